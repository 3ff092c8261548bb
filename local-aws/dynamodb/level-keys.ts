/** dynalite stores all tables in one LevelDB: the prefix of the keys of a table's items. */
export const itemPrefix = (table: string): string => `item-${table}~`;
