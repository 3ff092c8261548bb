import { validationError } from './errors.ts';
import type { PathTree } from './expressions/path.ts';
import { project, readProjection } from './expressions/projection.ts';
import { Scope } from './expressions/scope.ts';
import type { Request } from './requests.ts';
import type { Table } from './table.ts';
import type { Attributes } from './value.ts';
import { nestedKey } from './write.ts';

/** The attributes that a read returns. */
export type Selection = {
  select(item: Attributes): Attributes;
  /** @throws DynamoDbError if it has a path below a key */
  assertKeys(table: Table): void;
};

/** Creates the selection of a projection, or of all attributes. */
export const selectionOf = (projection: PathTree<true> | undefined): Selection => ({
  select: (item) => (projection ? project(item, projection) : item),
  assertKeys(table) {
    const nested = table.keyNames.find((name) => (projection?.children.get(name)?.children.size ?? 0) > 0);
    if (nested !== undefined) throw nestedKey(nested);
  },
});

/** @throws DynamoDbError if the projection is invalid */
export const readSelection = (
  request: Pick<Request<'GetItem'>, 'ProjectionExpression' | 'ExpressionAttributeNames'>,
): Selection => {
  const { ProjectionExpression: text, ExpressionAttributeNames: names } = request;
  if (text === undefined && names) {
    throw validationError('ExpressionAttributeNames can only be specified when using expressions');
  }
  const scope = new Scope(names, undefined);
  const projection = text === undefined ? undefined : readProjection(text, scope);
  scope.assertAllUsed();
  return selectionOf(projection);
};
