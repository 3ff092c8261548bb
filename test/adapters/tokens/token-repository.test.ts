import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { newToken, tokenHash } from '../../../shared/domain/token.ts';
import { startDatabase } from '../../support/dynamodb.ts';

const { client, stop } = await startDatabase();
afterAll(stop);

const START = Date.UTC(2026, 0, 1);
const grant = { tenant: 'acme', role: 'creator', label: 'ci', expiresInSeconds: 3_600 } as const;
const caller = { tenant: 'acme', role: 'creator' };

const setUp = () => {
  let now = START;
  const advance = (seconds: number) => {
    now += seconds * 1_000;
  };
  return { advance, tokens: createTokenRepository(client, 'tokens', () => now) };
};

describe('a token', () => {
  it('belongs to its tenant and role as soon as it is issued', async () => {
    const { tokens } = setUp();
    expect(await tokens.find(await tokens.issue(grant))).toMatchObject(caller);
  });

  it('is stored only as its hash, with tenant, role and label', async () => {
    const { tokens } = setUp();
    const token = await tokens.issue(grant);
    const { Item } = await client.send(new GetCommand({ TableName: 'tokens', Key: { pk: tokenHash(token) } }));
    expect(Item).toEqual({
      pk: tokenHash(token),
      tenant: 'acme',
      role: 'creator',
      label: 'ci',
      created_at_ms: START,
      ttl: START / 1_000 + 3_600,
    });
    expect(JSON.stringify(Item)).not.toContain(token);
  });

  it('expires to the second, even if its item still exists', async () => {
    const { tokens, advance } = setUp();
    const token = await tokens.issue(grant);
    advance(3_599);
    expect(await tokens.find(token)).toMatchObject(caller);
    advance(1);
    expect(await tokens.find(token)).toBeUndefined();
  });

  it('has no caller if it was never issued', async () => {
    expect(await setUp().tokens.find(newToken())).toBeUndefined();
  });
});
