/** The units that a transaction consumes of a table. */
export type TableUnits = { table: string; units: number };

/** Returns `ConsumedCapacity` of a transaction, as the request asks for it. */
export const consumedCapacity = (
  returned: string,
  operation: 'Read' | 'Write',
  consumed: readonly TableUnits[],
): { ConsumedCapacity?: object[] } => {
  if (returned === 'NONE') return {};
  const byTable = new Map<string, number>();
  for (const { table, units } of consumed) byTable.set(table, (byTable.get(table) ?? 0) + units);
  return {
    ConsumedCapacity: [...byTable].map(([TableName, units]) => {
      const capacity = { CapacityUnits: units, [`${operation}CapacityUnits`]: units };
      return { TableName, ...capacity, ...(returned === 'INDEXES' && { Table: capacity }) };
    }),
  };
};
