"""Which project folders may run code of their own: `.rollscope/viewers`, `.rollscope/rules`.

A folder of runs may come from anyone, so its code is never run unasked. A person trusts a folder
once by name (`rollscope trust FOLDER`). Trust holds for the files as they were: each is kept by its
path and the hash of its bytes in the person's own configuration, and a file that changed or is new
is asked about again. `folders` finds a project's folder and its files, `trusted` is the door.
"""
