import fc, { type Arbitrary } from 'fast-check';

/** A request to DynamoDB. */
export type Request = { action: string; body: Record<string, unknown> };

/** The tables of the generated requests, with the type of their sort key. */
export const TABLES = { texts: 'S', numbers: 'N' } as const;

/** A part of each partition key and token, which `inRun` replaces. */
const RUN = '@@@@@@';

/** Returns a request with the keys and tokens of one run, so that runs do not affect each other. */
export const inRun = ({ action, body }: Request, run: number): Request => ({
  action,
  body: JSON.parse(JSON.stringify(body).replaceAll(RUN, String(run).padStart(RUN.length, '0'))),
});

type Typed = Record<string, unknown>;
type Attributes = Record<string, Typed>;
type Expression = {
  text: string;
  names: Record<string, string>;
  values: Attributes;
};

const TEXTS = ['', 'a', 'b', 'ab', 'ä', '🔥', 'long'.repeat(30)];
const NUMBERS = [
  ...['0', '1', '-1', '2', '1.5', '10', '1e2', '0.001', '-12.50', '.5', '5.', '+7', '-0', '00012', '1E+3'],
  ...['12345678901234567890123456789012345678', '-0.12345678901234567890123456789012345678'],
  ...['9.9e125', '-9.9E125', '1e-130', '0.00000000000000000000000000000000000001', '1e38', '1e37'],
];
const BINARIES = ['', 'AA==', 'AAE=', '/w=='];

const setOf = (values: readonly string[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });

const scalar: Arbitrary<Typed> = fc.oneof(
  fc.record({ S: fc.constantFrom(...TEXTS) }),
  fc.record({ N: fc.constantFrom(...NUMBERS) }),
  fc.record({ B: fc.constantFrom(...BINARIES) }),
  fc.record({ BOOL: fc.boolean() }),
  fc.constant({ NULL: true }),
);
const set: Arbitrary<Typed> = fc.oneof(
  fc.record({ SS: setOf(['a', 'b', 'ab']) }),
  fc.record({ NS: setOf(['1', '2', '10', '-1.5']) }),
  fc.record({ BS: setOf(['AA==', 'AAE=']) }),
);
const shallow = fc.oneof({ arbitrary: scalar, weight: 3 }, set);
const containerOf = (element: Arbitrary<Typed>): Arbitrary<Typed> =>
  fc.oneof(
    fc.record({ L: fc.array(element, { maxLength: 3 }) }),
    fc.record({ M: fc.dictionary(fc.constantFrom('k', 'l'), element) }),
  );
const container = containerOf(fc.oneof({ arbitrary: shallow, weight: 3 }, containerOf(shallow)));
const value = fc.oneof(
  { arbitrary: scalar, weight: 4 },
  { arbitrary: set, weight: 2 },
  { arbitrary: container, weight: 2 },
);

const NAMES = ['a', 'b', 'n', 'tags', 'lst', 'obj'];
const attributes = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 4 });

const table = fc.constantFrom<('texts' | 'numbers')[]>('texts', 'texts', 'numbers');
const partition = fc.constantFrom(`${RUN}p`, `${RUN}q`);
const sortOf = (name: 'texts' | 'numbers') =>
  name === 'texts'
    ? fc.record({ S: fc.constantFrom('a', 'b', 'ba') })
    : fc.record({ N: fc.constantFrom('1', '2', '10', '1.0') });
const keyIn = (name: 'texts' | 'numbers'): Arbitrary<Attributes> =>
  fc.record({ pk: fc.record({ S: partition }), sk: sortOf(name) });

type Located = { TableName: 'texts' | 'numbers'; Key: Attributes };
const located: Arbitrary<Located> = table.chain((TableName) =>
  fc.record({ TableName: fc.constant(TableName), Key: keyIn(TableName) }),
);

const literal = (text: string): Expression => ({ text, names: {}, values: {} });

/** Joins expressions; names and values are numbered so that they stay distinct. */
const join = (parts: readonly (string | Expression)[]): Expression => {
  const expressions = parts.map((part) => (typeof part === 'string' ? literal(part) : part));
  return {
    text: expressions.map(({ text }) => text).join(''),
    names: Object.assign({}, ...expressions.map(({ names }) => names)),
    values: Object.assign({}, ...expressions.map(({ values }) => values)),
  };
};

const path: Arbitrary<Expression> = fc.oneof(
  { arbitrary: fc.constantFrom(...NAMES).map(literal), weight: 6 },
  {
    arbitrary: fc
      .constantFrom(
        ...[
          'obj.k',
          'obj.l',
          'lst[0]',
          'lst[1]',
          'lst[2]',
          'lst[5]',
          'a.b',
          'obj.k[0]',
          'obj.l.k',
          'lst[1][0]',
          'lst [0] . k',
        ],
      )
      .map(literal),
    weight: 4,
  },
  {
    arbitrary: fc
      .constantFrom(...NAMES)
      .map((name) => ({ text: `#${name}`, names: { [`#${name}`]: name }, values: {} })),
    weight: 2,
  },
);
/** Conditions also have the keys, which an update cannot change. */
const conditionPath = fc.oneof(
  { arbitrary: path, weight: 8 },
  { arbitrary: fc.constantFrom('pk', 'sk').map(literal), weight: 1 },
);

const operandOf = (of: Arbitrary<Typed>): Arbitrary<Expression> =>
  fc.tuple(fc.integer({ min: 0, max: 99_999 }), of).map(([id, typed]) => ({
    text: `:v${id}`,
    names: {},
    values: { [`:v${id}`]: typed },
  }));
const operand = operandOf(value);
const comparator = fc.constantFrom(' = ', ' <> ', ' < ', ' <= ', ' > ', ' >= ');

const simpleCondition: Arbitrary<Expression> = fc.oneof(
  conditionPath.map((of) => join(['attribute_exists(', of, ')'])),
  conditionPath.map((of) => join(['attribute_not_exists(', of, ')'])),
  fc.tuple(conditionPath, comparator, operandOf(scalar)).map(join),
  fc.tuple(conditionPath, comparator, operand).map(join),
  fc
    .tuple(
      conditionPath,
      operandOf(
        fc.oneof(
          fc.record({ S: fc.constantFrom('a', 'ä', 'long', '') }),
          fc.record({ B: fc.constantFrom('AA==', '') }),
        ),
      ),
    )
    .map(([of, start]) => join(['begins_with(', of, ', ', start, ')'])),
  fc.tuple(conditionPath, operand).map(([of, member]) => join(['contains(', of, ', ', member, ')'])),
  fc.tuple(operand, conditionPath).map(([of, member]) => join(['contains(', of, ', ', member, ')'])),
  fc.tuple(operand, comparator, conditionPath).map(join),
  fc.tuple(conditionPath, comparator, conditionPath).map(join),
  fc
    .tuple(conditionPath, comparator, conditionPath)
    .map(([a, compare, b]) => join(['size(', a, ')', compare, 'size(', b, ')'])),
  fc.tuple(operand, comparator, operand).map(join),
  fc.tuple(conditionPath, operand, operand).map(([of, a, b]) => join([of, ' BETWEEN ', a, ' AND ', b])),
  fc.tuple(operand, conditionPath, conditionPath).map(([of, a, b]) => join([of, ' between ', a, ' and ', b])),
  fc.tuple(conditionPath, operand, conditionPath).map(([of, a, b]) => join([of, ' in (', a, ', ', b, ')'])),
  fc
    .tuple(
      conditionPath,
      operandOf(fc.record({ S: fc.constantFrom('S', 'N', 'B', 'BOOL', 'NULL', 'SS', 'NS', 'BS', 'L', 'M', 'X') })),
    )
    .map(([of, type]) => join(['attribute_type(', of, ', ', type, ')'])),
  fc
    .tuple(conditionPath, comparator, operandOf(fc.record({ N: fc.constantFrom('0', '1', '2', '4') })))
    .map(([of, compare, size]) => join(['size(', of, ')', compare, size])),
  fc
    .tuple(conditionPath, operandOf(scalar), operandOf(scalar))
    .map(([of, a, b]) => join([of, ' IN (', a, ', ', b, ')'])),
  fc
    .tuple(
      conditionPath,
      operandOf(fc.record({ N: fc.constantFrom('0', '1') })),
      operandOf(fc.record({ N: fc.constantFrom('2', '10') })),
    )
    .map(([of, low, high]) => join([of, ' BETWEEN ', low, ' AND ', high])),
);

const COMBINATIONS = [
  ['', ' OR ', ' AND ', ''],
  ['', ' AND ', ' OR ', ''],
  ['(', ' OR ', ') AND ', ''],
  ['NOT (', ' AND ', ') OR NOT ', ''],
  ['not ', ' and not (', ' or ', ')'],
  ['NOT NOT (', ' OR ', ' OR ', ')'],
  ['((', ' AND ', ') OR ', ')'],
] as const;
const condition: Arbitrary<Expression> = fc.oneof(
  { arbitrary: simpleCondition, weight: 24 },
  {
    arbitrary: fc.tuple(simpleCondition, fc.constantFrom(' AND ', ' OR '), simpleCondition).map(join),
    weight: 12,
  },
  { arbitrary: simpleCondition.map((inner) => join(['NOT ', inner])), weight: 4 },
  {
    arbitrary: fc
      .tuple(simpleCondition, simpleCondition, simpleCondition, fc.constantFrom(...COMBINATIONS))
      .map(([a, b, c, texts]) => join([texts[0], a, texts[1], b, texts[2], c, texts[3]])),
    weight: 10,
  },
);

const numeric = operandOf(
  fc.record({ N: fc.constantFrom('1', '-2', '0.5', '1e-40', '9.9e125', '-12345678901234567890123456789012345678') }),
);
const listOperand = operandOf(fc.record({ L: fc.array(scalar, { maxLength: 2 }) }));
const setClause: Arbitrary<Expression> = fc.oneof(
  fc.tuple(path, operand).map(([to, from]) => join([to, ' = ', from])),
  fc.tuple(path, path).map(([to, from]) => join([to, ' = ', from])),
  fc
    .tuple(path, path, fc.constantFrom(' + ', ' - '), numeric)
    .map(([to, from, sign, by]) => join([to, ' = ', from, sign, by])),
  fc
    .tuple(path, path, operand)
    .map(([to, from, otherwise]) => join([to, ' = if_not_exists(', from, ', ', otherwise, ')'])),
  fc.tuple(path, path, listOperand).map(([to, from, more]) => join([to, ' = list_append(', from, ', ', more, ')'])),
  fc
    .tuple(path, path, listOperand, listOperand)
    .map(([to, from, none, more]) => join([to, ' = list_append(if_not_exists(', from, ', ', none, '), ', more, ')'])),
  fc
    .tuple(path, path, numeric, fc.constantFrom(' + ', ' - '), numeric)
    .map(([to, from, none, sign, by]) => join([to, ' = if_not_exists(', from, ', ', none, ')', sign, by])),
  fc.tuple(path, operand, fc.constantFrom(' + ', ' - '), path).map(([to, a, sign, b]) => join([to, ' = ', a, sign, b])),
  fc.tuple(path, operand, operand).map(([to, a, b]) => join([to, ' = list_append(', a, ', ', b, ')'])),
);
const commaSeparated = (clauses: readonly Expression[]) =>
  join(clauses.flatMap((clause, index) => (index === 0 ? [clause] : [', ', clause])));
const clausesOf = (keyword: string, clause: Arbitrary<Expression>) =>
  fc.array(clause, { minLength: 1, maxLength: 3 }).map((clauses) => join([keyword, ' ', commaSeparated(clauses)]));
const addClause = fc.tuple(path, fc.oneof(numeric, operandOf(set))).map(([to, by]) => join([to, ' ', by]));
const deleteClause = fc.tuple(path, operandOf(set)).map(([to, by]) => join([to, ' ', by]));
const update: Arbitrary<Expression> = fc.oneof(
  { arbitrary: clausesOf('SET', setClause), weight: 25 },
  { arbitrary: clausesOf('REMOVE', path), weight: 10 },
  { arbitrary: clausesOf('ADD', addClause), weight: 10 },
  { arbitrary: clausesOf('DELETE', deleteClause), weight: 6 },
  {
    arbitrary: fc
      .tuple(clausesOf('set', setClause), clausesOf('REMOVE', path), clausesOf('ADD', addClause))
      .map(([a, b, c]) => join([a, ' ', b, ' ', c])),
    weight: 5,
  },
);

/** Returns the parameters of some expressions, by their names. */
const parameters = (expressions: Record<string, Expression | undefined>) => {
  const present = Object.entries(expressions).flatMap(([name, expression]) =>
    expression ? [[name, expression] as const] : [],
  );
  const { names, values } = join(present.map(([, expression]) => expression));
  return {
    ...Object.fromEntries(present.map(([name, { text }]) => [name, text])),
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};

const optional = <Value>(of: Arbitrary<Value>) => fc.option(of, { nil: undefined });
const defined = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined));

const putTarget = fc
  .tuple(located, attributes)
  .map(([{ TableName, Key }, more]) => ({ TableName, Item: { ...more, ...Key } }));

const conditional = fc.record({
  condition: optional(condition),
  onFailure: optional(fc.constantFrom('ALL_OLD', 'NONE')),
});
type Conditional = { condition: Expression | undefined; onFailure: string | undefined };
const conditionalMembers = (
  { condition, onFailure }: Conditional,
  expressions: Record<string, Expression | undefined> = {},
) => ({
  ...parameters({ ConditionExpression: condition, ...expressions }),
  ...defined({ ReturnValuesOnConditionCheckFailure: onFailure }),
});

const put: Arbitrary<Request> = fc
  .tuple(putTarget, conditional, optional(fc.constantFrom('ALL_OLD', 'NONE')))
  .map(([target, more, ReturnValues]) => ({
    action: 'PutItem',
    body: { ...target, ...conditionalMembers(more), ...defined({ ReturnValues }) },
  }));
const del: Arbitrary<Request> = fc
  .tuple(located, conditional, optional(fc.constantFrom('ALL_OLD', 'NONE')))
  .map(([target, more, ReturnValues]) => ({
    action: 'DeleteItem',
    body: { ...target, ...conditionalMembers(more), ...defined({ ReturnValues }) },
  }));
const updateItem: Arbitrary<Request> = fc
  .tuple(
    located,
    conditional,
    optional(update),
    optional(fc.constantFrom('ALL_OLD', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW', 'NONE')),
  )
  .map(([target, more, UpdateExpression, ReturnValues]) => ({
    action: 'UpdateItem',
    body: { ...target, ...conditionalMembers(more, { UpdateExpression }), ...defined({ ReturnValues }) },
  }));

const projection = optional(
  fc.uniqueArray(path, { minLength: 1, maxLength: 3, selector: ({ text }) => text }).map(commaSeparated),
);
const get: Arbitrary<Request> = fc
  .tuple(located, projection, fc.boolean())
  .map(([target, ProjectionExpression, ConsistentRead]) => ({
    action: 'GetItem',
    body: { ...target, ...parameters({ ProjectionExpression }), ConsistentRead },
  }));

const sortCondition = (name: 'texts' | 'numbers'): Arbitrary<Expression> =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom(' = ', ' < ', ' <= ', ' > ', ' >= '), operandOf(sortOf(name)))
      .map(([compare, to]) => join([' AND sk', compare, to])),
    operandOf(fc.record({ S: fc.constantFrom('a', 'b') })).map((start) =>
      join(name === 'texts' ? [' AND begins_with(sk, ', start, ')'] : []),
    ),
    fc
      .tuple(operandOf(sortOf(name)), operandOf(sortOf(name)))
      .map(([low, high]) => join([' AND sk BETWEEN ', low, ' AND ', high])),
    fc.constant(literal('')),
  );
const query: Arbitrary<Request> = table.chain((TableName) =>
  fc
    .record({
      partition: operandOf(fc.record({ S: partition })),
      sort: sortCondition(TableName),
      filter: optional(condition),
      projection,
      Limit: optional(fc.constantFrom(1, 2)),
      ScanIndexForward: optional(fc.boolean()),
      Select: optional(fc.constant('COUNT')),
      ExclusiveStartKey: optional(keyIn(TableName)),
    })
    .map(({ partition: pk, sort, filter, projection: of, ...rest }) => ({
      action: 'Query',
      body: {
        TableName,
        ...parameters({
          KeyConditionExpression: join(['pk = ', pk, sort]),
          FilterExpression: filter,
          ProjectionExpression: rest.Select ? undefined : of,
        }),
        ...defined(rest),
      },
    })),
);

const grouped = <Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value[]> => {
  const names = [...new Set(entries.map(([name]) => name))];
  return Object.fromEntries(
    names.map((name) => [name, entries.filter(([other]) => other === name).map(([, entry]) => entry)]),
  );
};
const batchGet: Arbitrary<Request> = fc
  .tuple(fc.array(located, { minLength: 1, maxLength: 4 }), projection)
  .map(([keys, of]) => ({
    action: 'BatchGetItem',
    body: {
      RequestItems: Object.fromEntries(
        Object.entries(grouped(keys.map(({ TableName, Key }) => [TableName, Key] as const))).map(([name, Keys]) => [
          name,
          { Keys, ConsistentRead: true, ...parameters({ ProjectionExpression: of }) },
        ]),
      ),
    },
  }));
const batchWrite: Arbitrary<Request> = fc
  .array(
    fc.oneof(
      putTarget.map(({ TableName, Item }) => [TableName, { PutRequest: { Item } }] as const),
      located.map(({ TableName, Key }) => [TableName, { DeleteRequest: { Key } }] as const),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((writes) => ({ action: 'BatchWriteItem', body: { RequestItems: grouped<object>(writes) } }));

const transactItem = fc.oneof(
  {
    arbitrary: fc
      .tuple(putTarget, conditional)
      .map(([target, more]) => ({ Put: { ...target, ...conditionalMembers(more) } })),
    weight: 4,
  },
  {
    arbitrary: fc
      .tuple(located, conditional)
      .map(([target, more]) => ({ Delete: { ...target, ...conditionalMembers(more) } })),
    weight: 2,
  },
  {
    arbitrary: fc.tuple(located, conditional, update).map(([target, more, UpdateExpression]) => ({
      Update: { ...target, ...conditionalMembers(more, { UpdateExpression }) },
    })),
    weight: 4,
  },
  {
    arbitrary: fc.tuple(located, conditional, condition).map(([target, more, checked]) => ({
      ConditionCheck: { ...target, ...conditionalMembers({ ...more, condition: checked }) },
    })),
    weight: 2,
  },
);
const transactWrite: Arbitrary<Request> = fc
  .tuple(fc.array(transactItem, { minLength: 1, maxLength: 4 }), optional(fc.constantFrom(`${RUN}1`, `${RUN}2`)))
  .map(([TransactItems, ClientRequestToken]) => ({
    action: 'TransactWriteItems',
    body: defined({ TransactItems, ClientRequestToken }),
  }));

/** Requests in sequence, some of them repeated. */
export const requestSequence: Arbitrary<Request[]> = fc
  .array(
    fc.tuple(
      fc.oneof(
        { arbitrary: put, weight: 6 },
        { arbitrary: updateItem, weight: 6 },
        { arbitrary: del, weight: 2 },
        { arbitrary: get, weight: 3 },
        { arbitrary: query, weight: 4 },
        { arbitrary: batchGet, weight: 2 },
        { arbitrary: batchWrite, weight: 2 },
        { arbitrary: transactWrite, weight: 8 },
      ),
      fc.constantFrom(1, 1, 1, 1, 2),
    ),
    { minLength: 5, maxLength: 25 },
  )
  .map((requests) => requests.flatMap(([request, times]) => Array<Request>(times).fill(request)));
