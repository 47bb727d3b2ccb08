"""What the parts of a long answer tell the server that sends them."""


class Shrunk(Exception):
    """A file became shorter while it was sent: the promised length cannot be kept, so the connection ends."""
