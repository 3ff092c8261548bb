import { type ExpressionParameters, Expressions } from './expressions/expressions.ts';
import { project } from './expressions/path-tree.ts';
import { assertNotBelowKey, type Table } from './table.ts';
import type { Attributes } from './value.ts';

/** The attributes that a read returns. */
export type Selection = {
  /**
   * Returns what selects them from an item.
   *
   * @throws DynamoDbError if there is a path below a key
   */
  of(table: Table): (item: Attributes) => Attributes;
};

/** @throws DynamoDbError if the projection is invalid */
export const selectionIn = (expressions: Expressions): Selection => {
  const projection = expressions.projection();
  return {
    of(table) {
      if (!projection) return (item) => item;
      assertNotBelowKey(
        table,
        [...projection.children].map(([name, { children }]) => [name, ...children.keys()]),
      );
      return (item) => project(item, projection);
    },
  };
};

/** Reads the selection of a request that has no other expressions. */
export const readSelection = (request: ExpressionParameters): Selection => {
  const expressions = new Expressions(request);
  const selection = selectionIn(expressions);
  expressions.assertAllUsed();
  return selection;
};
