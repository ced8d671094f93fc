"""Storage: every row that Redline keeps, on Postgres or SQLite with the same code.

`engine` opens and migrates a database, `tables` says what is stored; the rest are functions over it. A
review goes into the queue in `reviews` and out of it in `claims`; `lookups` reads it, and `sweeping` repairs
what got stuck.
Nothing here reads a clock: the present time is an argument, always an aware UTC datetime.
"""
