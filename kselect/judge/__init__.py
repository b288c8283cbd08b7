"""Other people's results: read test errors, test them, and write a report about them."""
