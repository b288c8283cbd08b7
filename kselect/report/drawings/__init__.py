"""What figures look like: numbers and words in, a canvas out; one file each, for the section of that name."""
