"""Send a notice by e-mail, over SMTP: encrypted wherever the server can, always with a password."""

from __future__ import annotations

import contextlib
import hashlib
import smtplib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate

from .delivery import NotSent, Refused, Unanswered
from .notice import Notice

WAIT_SECONDS = 20.0
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Mail:
    shown: str
    host: str
    port: int
    secure: bool  # TLS from the first byte (smtps); else STARTTLS where it is offered
    sender: str
    to: tuple[str, ...]
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def send(self, notice: Notice) -> None:
        message = self._message(notice)
        try:
            with self._session() as session:
                self._hand_over(session, message)
        except smtplib.SMTPAuthenticationError:
            raise Refused("the mail server did not take the user and the password") from None
        except smtplib.SMTPResponseException as error:
            raise _answer(error.smtp_code) from None
        except (OSError, smtplib.SMTPException) as error:
            raise NotSent(f"the mail server cannot be used ({error.strerror or type(error).__name__})") from None

    def _hand_over(self, session: smtplib.SMTP, message: EmailMessage) -> None:
        """Everything up to here can be tried again; once the text is sent, only its answer says."""
        try:
            session.send_message(message)
        except smtplib.SMTPRecipientsRefused:
            raise Refused(f"the mail server knows none of the {len(self.to)} recipients") from None
        except (TimeoutError, smtplib.SMTPServerDisconnected):
            raise Unanswered("the mail server gave no answer to the message") from None

    @contextlib.contextmanager
    def _session(self) -> Iterator[smtplib.SMTP]:
        context = ssl.create_default_context()
        if self.secure:
            session: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=WAIT_SECONDS, context=context)
        else:
            session = smtplib.SMTP(self.host, self.port, timeout=WAIT_SECONDS)
        try:
            self._log_in(session, context)
            yield session
        finally:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                session.quit()

    def _log_in(self, session: smtplib.SMTP, context: ssl.SSLContext) -> None:
        session.ehlo()
        encrypted = self.secure
        if not encrypted and session.has_extn("starttls"):
            session.starttls(context=context)
            session.ehlo()
            encrypted = True
        if self.user:
            if not encrypted and self.host not in LOOPBACK:
                raise Refused("the mail server offers no encryption, and the password is not sent without it")
            session.login(self.user, self.password)

    def _message(self, notice: Notice) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = notice.title
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        message["Date"] = formatdate(notice.time_ns / 1e9)
        digest = hashlib.sha256(f"{notice.run}/{notice.id}".encode()).hexdigest()[:32]
        message["Message-ID"] = f"<{digest}@rollscope>"  # the same for the same notice: mailboxes join them
        message.set_content("\n\n".join([notice.title, *notice.lines]) + "\n")
        return message


def _answer(code: int) -> Exception:
    if 400 <= code < 500:
        return NotSent(f"the mail server answered {code}")
    return Refused(f"the mail server answered {code}. Are the sender and the recipients right?")
