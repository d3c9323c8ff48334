"""What others send to this server: OpenTelemetry's traces, metrics and logs.

The door that stores a batch is given to the server by who starts it; without one there is nothing
at these addresses.
"""
