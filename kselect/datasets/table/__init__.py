"""Tables of a user: from the bytes of a file to typed columns and a target, with every decision reported."""
