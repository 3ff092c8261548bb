import fc, { type Arbitrary } from 'fast-check';

/** A request to DynamoDB. */
export type Request = { action: string; body: Record<string, unknown> };

/** The table of the generated requests. */
export const TABLE = 'texts';

/** A part of each partition key and token, which `inRun` replaces. */
const RUN = '@@@@@@';

/** Returns a request with the keys and tokens of one run, so that runs do not affect each other. */
export const inRun = ({ action, body }: Request, run: number): Request => ({
  action,
  body: JSON.parse(JSON.stringify(body).replaceAll(RUN, String(run).padStart(RUN.length, '0'))),
});

const weighted = <Value>(...options: readonly (readonly [weight: number, arbitrary: Arbitrary<Value>])[]) =>
  fc.oneof(...options.map(([weight, arbitrary]) => ({ weight, arbitrary })));

type Typed = Record<string, unknown>;
type Attributes = Record<string, Typed>;
type Expression = {
  text: string;
  names: Record<string, string>;
  values: Attributes;
};

const TEXTS = ['', 'a', 'b', 'ab', 'ä', '🔥', 'long'.repeat(30)];
const NUMBERS = [
  ...['0', '1', '-1', '2', '1.5', '10', '0.001', '-12.50', '5.', '-0', '00012'],
  ...['12345678901234567890123456789012345678', '-0.12345678901234567890123456789012345678'],
  ...['0.00000000000000000000000000000000000001', '99999999999999999999999999999999999999'],
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
const set: Arbitrary<Typed> = fc.record({ SS: setOf(['a', 'b', 'ab']) });
const shallow = fc.oneof({ arbitrary: scalar, weight: 3 }, set);
const containerOf = (element: Arbitrary<Typed>): Arbitrary<Typed> =>
  fc.oneof(
    fc.record({ L: fc.array(element, { maxLength: 3 }) }),
    fc.record({ M: fc.dictionary(fc.constantFrom('k', 'l'), element) }),
  );
const container = containerOf(fc.oneof({ arbitrary: shallow, weight: 3 }, containerOf(shallow)));
const value = weighted([4, scalar], [2, set], [2, container]);

/** Values that DynamoDB rejects. */
const invalidValue: Arbitrary<Typed> = fc.constantFrom<Typed[]>(
  { SS: [] },
  { SS: ['a', 'a'] },
  { N: 'abc' },
  { N: '1e200' },
  { N: '1e-131' },
  { N: '' },
  { N: ' 1' },
  { N: '1e' },
  { N: 'NaN' },
  { L: [{ S: 'a', N: '1' }] },
  { M: { k: { SS: [] } } },
  { N: '123456789012345678901234567890123456789' },
  { NULL: false },
  {},
  { S: 'a', N: '1' },
);

const NAMES = ['a', 'b', 'n', 'tags', 'lst', 'obj'];
const attributes = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 4 });

const partition = fc.constantFrom(`${RUN}p`, `${RUN}q`);
const sort = fc.record({ S: fc.constantFrom('a', 'b', 'ba') });
const key: Arbitrary<Attributes> = fc.record({ pk: fc.record({ S: partition }), sk: sort });

/** Keys that do not match the table. */
const invalidKey: Arbitrary<Attributes> = fc.constantFrom<Attributes[]>(
  { pk: { S: `${RUN}p` } },
  { pk: { S: `${RUN}p` }, other: { S: 'a' } },
  { pk: { S: `${RUN}p` }, sk: { S: 'a' }, other: { S: 'a' } },
  { pk: { N: '1' }, sk: { S: 'a' } },
  { pk: { S: '' }, sk: { S: 'a' } },
  {},
);

type Located = { TableName: string; Key: Attributes };
/** Most requests must be valid, so that sequences have effects. */
const rarely = <Value>(usual: Arbitrary<Value>, rare: Arbitrary<Value>, weight = 60) =>
  weighted([weight, usual], [1, rare]);
const located: Arbitrary<Located> = fc.record({
  TableName: rarely<string>(fc.constant(TABLE), fc.constant('nowhere'), 150),
  Key: rarely(key, invalidKey),
});

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

const path: Arbitrary<Expression> = weighted(
  [3, fc.constantFrom(...NAMES).map(literal)],
  [1, fc.constantFrom(...NAMES).map((name) => ({ text: `#${name}`, names: { [`#${name}`]: name }, values: {} }))],
);
/** Conditions also have elements of lists, and the keys, which an update cannot change. */
const conditionPath = weighted(
  [8, path],
  [4, fc.constantFrom('lst[0]', 'lst[1]', 'lst[5]', 'obj[0]', 'lst [ 1 ]').map(literal)],
  [1, fc.constantFrom('pk', 'sk').map(literal)],
);
const updatePath = rarely(path, fc.constantFrom('pk', 'sk').map(literal));

const operandOf = (of: Arbitrary<Typed>): Arbitrary<Expression> =>
  fc.tuple(fc.integer({ min: 0, max: 99_999 }), rarely(of, invalidValue, 150)).map(([id, typed]) => ({
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
  fc
    .tuple(conditionPath, comparator, operandOf(fc.record({ N: fc.constantFrom('0', '1', '2', '4') })))
    .map(([of, compare, size]) => join(['size(', of, ')', compare, size])),
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
  ['((', ' and ', ') or ', ')'],
] as const;
const condition: Arbitrary<Expression> = weighted(
  [24, simpleCondition],
  [12, fc.tuple(simpleCondition, fc.constantFrom(' AND ', ' OR '), simpleCondition).map(join)],
  [
    10,
    fc
      .tuple(simpleCondition, simpleCondition, simpleCondition, fc.constantFrom(...COMBINATIONS))
      .map(([a, b, c, texts]) => join([texts[0], a, texts[1], b, texts[2], c, texts[3]])),
  ],
  [
    1,
    fc
      .constantFrom(
        ...['', 'a =', 'foo bar', 'a = :undefined', '#undefined = a', 'unknown(a)', 'size(a)', 'a = a', '_a = b'],
        ...['a.1 = b', '((a = b))', '(a = b) = c', 'a BETWEEN b', 'a[b] = a', 'a[-1] = b', 'a. = b'],
        ...['attribute_exists(a, b)', 'contains(a)', 'begins_with(a, a)', 'contains(a, size(b))', 'size(size(a)) = b'],
        ...['Attribute_exists(a)', 'attribute_exists(size(a))', 'size (a) = b', 'a=b', 'a<>b AND b<a', 'a = b = c'],
        ...['a AND b', 'attribute_exists(a) = b', 'comment = a', 'a == b', 'a != b', '1a = b'],
        ...['if_not_exists(a, b) = n'],
      )
      .map(literal),
  ],
);

const numeric = operandOf(
  fc.record({ N: fc.constantFrom('1', '-2', '0.5', '0.001', '-12345678901234567890123456789012345678') }),
);
const setClause: Arbitrary<Expression> = fc.oneof(
  fc.tuple(updatePath, operand).map(([to, from]) => join([to, ' = ', from])),
  fc.tuple(updatePath, path).map(([to, from]) => join([to, ' = ', from])),
  fc
    .tuple(updatePath, path, operand)
    .map(([to, from, otherwise]) => join([to, ' = if_not_exists(', from, ', ', otherwise, ')'])),
);
const commaSeparated = (clauses: readonly Expression[]) =>
  join(clauses.flatMap((clause, index) => (index === 0 ? [clause] : [', ', clause])));
const clausesOf = (keyword: string, clause: Arbitrary<Expression>) =>
  fc.array(clause, { minLength: 1, maxLength: 3 }).map((clauses) => join([keyword, ' ', commaSeparated(clauses)]));
const update: Arbitrary<Expression> = weighted(
  [25, clausesOf('SET', setClause)],
  [10, clausesOf('REMOVE', updatePath)],
  [
    10,
    clausesOf(
      'ADD',
      fc
        .tuple(updatePath, rarely(fc.oneof(numeric, operandOf(set)), operand, 10))
        .map(([to, by]) => join([to, ' ', by])),
    ),
  ],
  [
    6,
    clausesOf(
      'DELETE',
      fc.tuple(updatePath, rarely(operandOf(set), operand, 10)).map(([to, by]) => join([to, ' ', by])),
    ),
  ],
  [
    5,
    fc
      .tuple(
        clausesOf('set', setClause),
        clausesOf('REMOVE', updatePath),
        clausesOf(
          'ADD',
          fc.tuple(updatePath, numeric).map(([to, by]) => join([to, ' ', by])),
        ),
      )
      .map(([a, b, c]) => join([a, ' ', b, ' ', c])),
  ],
  [
    2,
    fc
      .constantFrom(
        ...['', 'SET', 'a = b', 'SET a', 'ADD a b', 'SET a = b SET n = b', 'REMOVE a, a', 'REMOVE a b'],
        ...['SET a = size(b)', 'SET a = contains(a, b)', 'SET a = if_not_exists(b)', 'SET a = unknown(b)'],
        ...['SET a = a = b', 'SET comment = a', 'SET a = b,', 'REMOVE', 'SET a = b REMOVE n,'],
      )
      .map(literal),
  ],
);

/** Returns the parameters of some expressions, by their names. */
const parameters = (expressions: Record<string, Expression | undefined>, extra: Partial<Expression> = {}) => {
  const present = Object.entries(expressions).flatMap(([name, expression]) =>
    expression ? [[name, expression] as const] : [],
  );
  const all = join(present.map(([, expression]) => expression));
  const names = { ...all.names, ...extra.names };
  const values = { ...all.values, ...extra.values };
  return {
    ...Object.fromEntries(present.map(([name, { text }]) => [name, text])),
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};

const optional = <Value>(of: Arbitrary<Value>) => fc.option(of, { nil: undefined });
const unused: Arbitrary<Partial<Expression>> = rarely<Partial<Expression>>(
  fc.constant({}),
  fc.constantFrom<Partial<Expression>[]>({ names: { '#unused': 'a' } }, { values: { ':unused': { S: 'a' } } }),
);
const returnsOnFailure = optional(fc.constantFrom('ALL_OLD', 'NONE'));

/** An item of an exact size around the limit of 400 KB, in bytes or in characters. */
const largeItem = fc
  .tuple(located, fc.constantFrom(-1, 0, 1), fc.constantFrom('x', 'ä'))
  .map(([{ TableName, Key }, over, character]) => {
    const pk = { S: `${RUN}p` };
    const bytes = 409_600 - 'pkskt'.length - pk.S.length - 'a'.length + over;
    const text = character === 'x' ? 'x'.repeat(bytes) : 'ä'.repeat(bytes / 2) + 'x'.repeat(bytes % 2);
    return { TableName, Item: { ...Key, pk, sk: { S: 'a' }, t: { S: text } } };
  });

const putTarget = rarely(
  fc
    .tuple(
      located,
      attributes,
      rarely(
        fc.constant({}),
        invalidValue.map((b) => ({ b })),
      ),
    )
    .map(([{ TableName, Key }, more, invalid]) => ({
      TableName,
      Item: { ...more, ...invalid, ...Key },
    })),
  largeItem,
  60,
);

const conditional = fc.record({ condition: optional(condition), onFailure: returnsOnFailure, extra: unused });
type Conditional = { condition: Expression | undefined; onFailure: string | undefined; extra: Partial<Expression> };
const conditionalMembers = (
  { condition, onFailure, extra }: Conditional,
  expressions: Record<string, Expression | undefined> = {},
) => ({
  ...parameters({ ConditionExpression: condition, ...expressions }, extra),
  ReturnValuesOnConditionCheckFailure: onFailure,
});

const put: Arbitrary<Request> = fc.tuple(putTarget, conditional).map(([target, more]) => ({
  action: 'PutItem',
  body: { ...target, ...conditionalMembers(more) },
}));
const del: Arbitrary<Request> = fc.tuple(located, conditional).map(([target, more]) => ({
  action: 'DeleteItem',
  body: { ...target, ...conditionalMembers(more) },
}));
const updateItem: Arbitrary<Request> = fc
  .tuple(located, conditional, optional(update), optional(fc.constantFrom('ALL_NEW', 'NONE')))
  .map(([target, more, UpdateExpression, ReturnValues]) => ({
    action: 'UpdateItem',
    body: { ...target, ...conditionalMembers(more, { UpdateExpression }), ReturnValues },
  }));

const projection = optional(
  weighted(
    [60, fc.uniqueArray(path, { minLength: 1, maxLength: 3, selector: ({ text }) => text }).map(commaSeparated)],
    [1, fc.constantFrom('', 'a,', 'a, a', 'a b', 'comment', 'a[x]', ':a', 'size(a)').map(literal)],
  ),
);
const get: Arbitrary<Request> = fc
  .tuple(located, projection, fc.boolean())
  .map(([target, ProjectionExpression, ConsistentRead]) => ({
    action: 'GetItem',
    body: { ...target, ...parameters({ ProjectionExpression }), ConsistentRead },
  }));

const sortCondition: Arbitrary<Expression> = fc.oneof(
  fc
    .tuple(fc.constantFrom(' = ', ' < ', ' <= ', ' > ', ' >= '), operandOf(sort))
    .map(([compare, to]) => join([' AND sk', compare, to])),
  operandOf(fc.record({ S: fc.constantFrom('a', 'b') })).map((start) => join([' AND begins_with(sk, ', start, ')'])),
  fc.tuple(operandOf(sort), operandOf(sort)).map(([low, high]) => join([' AND sk BETWEEN ', low, ' AND ', high])),
  rarely(fc.constant(''), fc.constantFrom(' AND sk <> :x', ' OR pk = pk', ' AND n = n'), 20).map(literal),
);
const query: Arbitrary<Request> = fc
  .record({
    partition: operandOf(fc.record({ S: partition })),
    sort: sortCondition,
    filter: optional(condition),
    projection,
    Limit: optional(rarely(fc.constantFrom(1, 2), fc.constant(0))),
    ScanIndexForward: optional(fc.boolean()),
    Select: rarely<string | undefined>(fc.constant(undefined), fc.constant('COUNT'), 10),
    ExclusiveStartKey: rarely<Attributes | undefined>(fc.constant(undefined), key, 6),
  })
  .map(({ partition: pk, sort: range, filter, projection: of, ...rest }) => ({
    action: 'Query',
    body: {
      TableName: TABLE,
      ...parameters({
        KeyConditionExpression: join(['pk = ', pk, range]),
        FilterExpression: filter,
        ProjectionExpression: rest.Select ? undefined : of,
      }),
      ...rest,
    },
  }));

const grouped = <Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value[]> => {
  const names = [...new Set(entries.map(([name]) => name))];
  return Object.fromEntries(
    names.map((name) => [name, entries.filter(([other]) => other === name).map(([, entry]) => entry)]),
  );
};
const batchGet: Arbitrary<Request> = fc
  .tuple(rarely(fc.array(located, { minLength: 1, maxLength: 4 }), fc.constant<Located[]>([])), projection)
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

const transactItem = weighted<object>(
  [4, fc.tuple(putTarget, conditional).map(([target, more]) => ({ Put: { ...target, ...conditionalMembers(more) } }))],
  [2, fc.tuple(located, conditional).map(([target, more]) => ({ Delete: { ...target, ...conditionalMembers(more) } }))],
  [
    4,
    fc.tuple(located, conditional, update).map(([target, more, UpdateExpression]) => ({
      Update: { ...target, ...conditionalMembers(more, { UpdateExpression }) },
    })),
  ],
  [
    2,
    fc.tuple(located, conditional, condition).map(([target, more, checked]) => ({
      ConditionCheck: { ...target, ...conditionalMembers({ ...more, condition: checked }) },
    })),
  ],
);
const transactWrite: Arbitrary<Request> = fc
  .tuple(fc.array(transactItem, { minLength: 1, maxLength: 4 }), optional(fc.constantFrom(`${RUN}1`, `${RUN}2`)))
  .map(([TransactItems, ClientRequestToken]) => ({
    action: 'TransactWriteItems',
    body: { TransactItems, ClientRequestToken },
  }));

/** Requests in sequence, some of them repeated. */
export const requestSequence: Arbitrary<Request[]> = fc
  .array(
    fc.tuple(
      weighted(
        [6, put],
        [6, updateItem],
        [2, del],
        [3, get],
        [4, query],
        [2, batchGet],
        [2, batchWrite],
        [8, transactWrite],
      ),
      fc.constantFrom(1, 1, 1, 1, 2),
    ),
    { minLength: 5, maxLength: 25 },
  )
  .map((requests) => requests.flatMap(([request, times]) => Array<Request>(times).fill(request)));
