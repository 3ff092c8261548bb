import db from 'dynalite/db/index.js';
import { z } from 'zod';
import { attributesSchema } from './attributes.ts';
import { type Operation, operationOf } from './dynalite.ts';

const { parameters } = operationOf('DeleteItem');
const schema = z.looseObject({ TableName: z.string(), Key: attributesSchema });

/** Checks a condition of an item, like the writes of dynalite, which have no such operation. */
export const conditionCheck: Operation = {
  parameters: {
    ...parameters,
    types: { ...parameters.types, ConditionExpression: { type: 'String', notNull: true } },
  },
  run(store, data, callback) {
    const { TableName, Key } = schema.parse(data);
    store.getTable(TableName, (error, table) => {
      if (error || !table) return callback(error);
      const invalid = db.validateKey(Key, table);
      if (invalid) return callback(invalid);
      const key = db.createKey(Key, table);
      const items = store.getItemDb(TableName);
      items.lock(key, (release) => {
        const respond = release(callback);
        items.get(key, (failure, item) => respond(failure ?? db.checkConditional(data, item), {}));
      });
    });
  },
};
