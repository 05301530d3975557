"""Sets the service class of Interests: the example of docs/reference/signals.md."""

from ndn.encoding import get_tl_num_size, write_tl_num


def element(number, value):
    """A TLV element."""
    wire = bytearray(get_tl_num_size(number) + get_tl_num_size(len(value)))
    at = write_tl_num(number, wire)
    write_tl_num(len(value), wire, at)
    return bytes(wire) + bytes(value)


def with_class(interest, service_class):
    """The link packet around a bare Interest, with the service class: EF is 2."""
    return element(100, element(900, bytes([service_class])) + element(80, interest))


def name_class(app, service_class):
    """Makes an application of python-ndn set a class on all its Interests."""
    send = app.face.send
    app.face.send = lambda wire: send(with_class(wire, service_class) if wire[0] == 5 else wire)
