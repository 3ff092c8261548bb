import type { Request } from './requests.ts';

/** Returns the member `ConsumedCapacity` of a response if the request asks for it. */
export const consumedCapacity = (
  { ReturnConsumedCapacity }: Pick<Request<'Scan'>, 'ReturnConsumedCapacity'>,
  TableName: string,
  CapacityUnits: number,
): object | undefined => {
  if (ReturnConsumedCapacity === undefined || ReturnConsumedCapacity === 'NONE') return undefined;
  return { TableName, CapacityUnits, ...(ReturnConsumedCapacity === 'INDEXES' && { Table: { CapacityUnits } }) };
};
