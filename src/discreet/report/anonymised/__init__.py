"""What came of anonymising a table: in words, in pictures, on one page."""
