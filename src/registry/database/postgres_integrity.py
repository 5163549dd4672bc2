"""Finds damaged tables of a PostgreSQL database, and builds them or their indexes again.

The extension amcheck, which comes with PostgreSQL, compares indexes with their tables and looks at every row header.
Its functions are for superusers, unless they are granted. Without it, every row is read.
"""

import psycopg
from psycopg import sql

from registry.db import DamagedTable, Row

_MESSAGES = 5
"""How many faults of a table are reported."""

_TABLES = "select tablename from pg_tables where schemaname = current_schema() order by 1"
_GRANT = (
    "grant execute on function bt_index_check(regclass, boolean),"
    " verify_heapam(regclass, boolean, boolean, text, bigint, bigint) to {}"
)
_FUNCTIONS = (
    "select n.nspname, bool_and(has_function_privilege(p.oid, 'execute'))"
    " from pg_extension e join pg_namespace n on n.oid = e.extnamespace"
    " join pg_proc p on p.pronamespace = n.oid and (p.proname = 'verify_heapam'"
    " or p.proname = 'bt_index_check' and p.pronargs = 2)"
    " where e.extname = 'amcheck' group by 1"
)
_INDEXES = (
    "select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid"
    " join pg_am a on a.oid = c.relam and a.amname = 'btree'"
    " where i.indrelid = %s::regclass and i.indisvalid order by 1"
)
_DAMAGE = (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted, psycopg.errors.InternalError_)

Connection = psycopg.Connection[Row]


def damaged_tables(connection: Connection) -> list[DamagedTable]:
    """Return the tables whose rows cannot be read, or, with amcheck, whose rows or indexes are damaged."""
    schema = _amcheck(connection)
    names = [str(row[0]) for row in connection.execute(_TABLES).fetchall()]
    tables = (_checked(connection, name, schema) for name in names)
    return [table for table in tables if table is not None]


def unchecked_damage(connection: Connection) -> str | None:
    """Return what to do so that indexes are checked too; None if amcheck can be used."""
    if _amcheck(connection) is not None:
        return None
    user = str(connection.execute("select quote_ident(current_user)").fetchall()[0][0])
    has_amcheck = connection.execute("select 1 from pg_extension where extname = 'amcheck'").fetchall()
    commands = [*([] if has_amcheck else ["create extension amcheck"]), _GRANT.format(user)]
    return (
        "every row was read, but the indexes were not compared with their tables: have an administrator of the"
        f" PostgreSQL server run '{'; '.join(commands)}' in this database"
    )


def recreate_table(connection: Connection, table: str) -> None:
    """Empty a table without reading it. What refers to its rows stays as it is."""
    name = sql.Identifier(table)
    with connection.transaction():
        references = connection.execute(
            "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint"
            " where contype = 'f' and confrelid = %s::regclass",
            (table,),
        ).fetchall()
        for referrer, constraint, _ in references:  # without them, the rows there would have to go too
            drop = sql.SQL("alter table {} drop constraint {}")
            connection.execute(drop.format(sql.Identifier(referrer), sql.Identifier(constraint)))
        connection.execute(sql.SQL("truncate {}").format(name))
        for referrer, constraint, definition in references:  # its rows come back after this
            add = sql.SQL("alter table {} add constraint {} {} not valid")
            parts = (sql.Identifier(referrer), sql.Identifier(constraint), sql.SQL(definition))
            connection.execute(add.format(*parts))


def reindex_table(connection: Connection, table: str) -> None:
    """Build the indexes of a table again from its rows."""
    connection.execute(sql.SQL("reindex table {}").format(sql.Identifier(table)))


def _amcheck(connection: Connection) -> str | None:
    """Return the schema of the functions of amcheck; None if they do not exist or may not be used."""
    rows = connection.execute(_FUNCTIONS).fetchall()
    return str(rows[0][0]) if rows and rows[0][1] else None


def _checked(connection: Connection, table: str, schema: str | None) -> DamagedTable | None:
    read_all = sql.SQL("select count(length(t::text)) from {} t").format(sql.Identifier(table))
    try:
        connection.execute(read_all)
        faults = _faults(connection, table, schema) if schema else []
    except _DAMAGE as error:
        faults = [_first_line(error)]
    if faults:
        return DamagedTable(table, "; ".join(faults))
    damaged = _damaged_indexes(connection, table, schema) if schema else []
    return DamagedTable(table, "; ".join(damaged), only_indexes=True) if damaged else None


def _faults(connection: Connection, table: str, schema: str) -> list[str]:
    query = sql.SQL("select blkno, msg from {}(%s::regclass) limit %s").format(sql.Identifier(schema, "verify_heapam"))
    return [f"page {page}: {message}" for page, message in connection.execute(query, (table, _MESSAGES)).fetchall()]


def _damaged_indexes(connection: Connection, table: str, schema: str) -> list[str]:
    check = sql.SQL("select {}(%s::regclass, true)").format(sql.Identifier(schema, "bt_index_check"))
    messages = []
    for (index,) in connection.execute(_INDEXES, (table,)).fetchall():
        try:
            connection.execute(check, (index,))
        except _DAMAGE as error:
            messages.append(f"index {index}: {_first_line(error)}")
    return messages[:_MESSAGES]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
