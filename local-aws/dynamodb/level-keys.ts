/** dynalite stores all tables and indexes in one LevelDB: the prefix of the keys of a table's items. */
export const itemPrefix = (table: string): string => `item-${table}~`;

/** The prefix of the keys of an index. */
export const indexPrefix = (type: string, table: string, index: string): string =>
  `index-${type.toLowerCase()}~${table}~${index}~`;
