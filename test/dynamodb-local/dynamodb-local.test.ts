import fc from 'fast-check';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Comparable, comparable } from './comparable.ts';
import { dynamoDbLocal, localStack, type Send } from './databases.ts';
import { inRun, type Request, requestSequence } from './generated-requests.ts';
import { invalidRequests } from './invalid-requests.ts';
import { type Difference, toleratedDifferences } from './tolerated-differences.ts';

/** `SEED=1 SEQUENCES=1000 npm run test:dynamodb-local` sends other and more requests. */
const seed = Number(process.env.SEED ?? 20_261_122);
const numRuns = Number(process.env.SEQUENCES ?? 200);

let theirs: Send;
let ours: Send;
beforeAll(async () => {
  theirs = await dynamoDbLocal(inject('dynamoDbLocal') ?? '');
  ours = await localStack();
});

const send = async (request: Request): Promise<Difference> => ({
  request,
  dynamoDbLocal: comparable(await theirs(request)),
  local: comparable(await ours(request)),
});

/** Returns a response without messages: their words differ, and which of several errors they report is undefined. */
const withoutMessages = ({ status, error, members }: Comparable) => ({
  status,
  error,
  members: JSON.stringify(members, (name, value) => (name === 'Message' ? undefined : value)),
});

const isTolerated = (difference: Difference): boolean =>
  toleratedDifferences.some(({ applies }) => applies(difference));

describe('the DynamoDB of the local stack', () => {
  it('responds to generated sequences of requests like DynamoDB Local', async () => {
    let run = 0;
    let succeeded = 0;
    const property = fc.asyncProperty(requestSequence, async (sequence) => {
      run++;
      for (const request of sequence) {
        const difference = await send(inRun(request, run));
        const [their, our] = [withoutMessages(difference.dynamoDbLocal), withoutMessages(difference.local)];
        if (our.status === 200) succeeded++;
        if (JSON.stringify(their) === JSON.stringify(our)) continue;
        expect(isTolerated(difference) ? their : our, JSON.stringify(difference).slice(0, 4000)).toEqual(their);
        // The databases may have different items from here on.
        if (their.status !== our.status) return;
      }
    });
    await fc.assert(property, { seed, numRuns });
    // Otherwise few requests would be compared by more than their errors.
    expect(succeeded).toBeGreaterThan(numRuns * 3);
  });

  it.each<[string, Record<string, unknown>]>([
    ['Query', { KeyConditionExpression: 'pk = :pk' }],
    ['Query', { KeyConditionExpression: 'pk = :pk', ScanIndexForward: false, Limit: 4 }],
    ['Query', { KeyConditionExpression: 'pk = :pk', FilterExpression: 'n > :n', ProjectionExpression: 'sk, n' }],
    ['Scan', { FilterExpression: 'pk = :pk AND n > :n', ProjectionExpression: 'sk, n' }],
  ])('returns the pages of a %s like DynamoDB Local: %j', async (action, parameters) => {
    const numbers = Array.from({ length: 9 }, (_, index) => String(index));
    const text = { S: 'x'.repeat(260_000) };
    for (const n of numbers) {
      const Item = { pk: { S: 'pages' }, sk: { S: n }, n: { N: n }, text };
      await send({ action: 'PutItem', body: { TableName: 'texts', Item } });
    }
    const values = { ':pk': { S: 'pages' }, ...(JSON.stringify(parameters).includes(':n') && { ':n': { N: '2' } }) };
    const pages = async (database: Send) => {
      const found: Record<string, unknown>[] = [];
      const body: Record<string, unknown> = { TableName: 'texts', ...parameters, ExpressionAttributeValues: values };
      do {
        const page = await database({ action, body });
        found.push(page.body);
        body.ExclusiveStartKey = page.body.LastEvaluatedKey;
      } while (body.ExclusiveStartKey);
      // DynamoDB Local counts only what the filter permits towards 1 MB, AWS all that it reads.
      return parameters.FilterExpression === undefined ? found : found.flatMap(({ Items }) => Items);
    };
    expect(await pages(ours)).toEqual(await pages(theirs));
  });

  it.each(Object.entries(invalidRequests))('rejects %s like DynamoDB Local', async (_, request) => {
    const difference = await send(request);
    expect([difference.dynamoDbLocal.status, difference.local.status]).toEqual([400, 400]);
    if (isTolerated(difference)) return;
    expect(withoutMessages(difference.local)).toEqual(withoutMessages(difference.dynamoDbLocal));
  });
});
