"""Which tables an SQL statement touches without naming a namespace."""

import re

from tests.support.rows import NAMESPACED

TABLE = re.compile(r'(?:FROM|JOIN|UPDATE|INTO|USING) "(\w+)"(?: (?:AS )?"?([TUV]\d+)"?)?')
NAMESPACED_TABLES = {model._meta.db_table for model in NAMESPACED}


def without_namespace(sql: str) -> list[str]:
    """Name the tables a statement touches without saying in which namespace."""
    # What is merely selected or set is no condition.
    conditions = re.sub(r"SELECT .*? FROM ", "SELECT FROM ", sql) if "SELECT" in sql else sql
    conditions = re.sub(r" SET .*? WHERE ", " SET WHERE ", conditions)
    missing = []
    for table, alias in TABLE.findall(sql):
        if table not in NAMESPACED_TABLES:
            continue
        if sql.startswith("INSERT"):
            carried = re.search(r'INSERT INTO "\w+" \([^)]*"namespace_id"', sql)
        else:
            column = rf'"?{alias or table}"?\."namespace_id"'
            carried = re.search(rf"{column} (=|IN)|= \(?{column}|\([^()]*{column}[^()]*\) (=|IN)", conditions)
        if not carried:
            missing.append(alias or table)
    return missing
