"""The start page of the staff site: six counters, two charts, what needs a person, and what runs."""
