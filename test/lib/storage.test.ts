import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/settings.ts';
import { Storage } from '../../lib/storage.ts';
import { inOutdir, propertiesOf } from '../support/stack.ts';

const storageOf = (context = {}) =>
  inOutdir((outdir) => {
    const stack = new Stack(new App({ outdir, builtinCloudFormationValidation: false }));
    const storage = new Storage(stack, 'Storage', parseSettings(context));
    return { stack, storage, template: Template.fromStack(stack) };
  });

const { stack, storage, template } = storageOf();

describe('every table', () => {
  it('is on demand, can be restored to any second, and is protected from deletion', () => {
    template.resourceCountIs('AWS::DynamoDB::Table', 4);
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
    });
    template.allResources('AWS::DynamoDB::Table', { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  });

  it('forgets what has expired', () => {
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
  });

  it('goes with the stack where the settings say so', () => {
    const temporary = storageOf({ deletionProtection: 'false' }).template;
    temporary.allResources('AWS::DynamoDB::Table', { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
    temporary.allResourcesProperties('AWS::DynamoDB::Table', { DeletionProtectionEnabled: false });
  });

  it('has the keys that the repositories use', () => {
    const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.string() }));
    const keys = [...propertiesOf(template, 'AWS::DynamoDB::Table', z.object({ KeySchema: keySchema }))].map(
      ([id, { KeySchema }]) => [
        id.replace(/^Storage(.*)Table\w{8}$/, '$1'),
        KeySchema.map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`),
      ],
    );
    expect(Object.fromEntries(keys)).toEqual({
      Notifications: ['pk HASH', 'sk RANGE'],
      Accounts: ['pk HASH'],
      Tokens: ['pk HASH'],
      Deliveries: ['pk HASH', 'sk RANGE'],
    });
  });
});

describe('the access to a table', () => {
  it('is the permission for what is asked, on that table alone, and its name', () => {
    const { environment, statements } = storage.tokens.access('GetItem', 'Query');
    expect(stack.resolve(environment)).toEqual({ TOKENS_TABLE: { Ref: expect.stringMatching(/^StorageTokensTable/) } });
    expect(statements.map((statement) => stack.resolve(statement.toStatementJson()))).toEqual([
      {
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:Query'],
        Resource: { 'Fn::GetAtt': [expect.stringMatching(/^StorageTokensTable/), 'Arn'] },
      },
    ]);
  });

  it('adds up', () => {
    const sum = storage.tokens.access('GetItem').and(storage.accounts.access('UpdateItem'));
    expect(Object.keys(sum.environment)).toEqual(['TOKENS_TABLE', 'ACCOUNTS_TABLE']);
    expect(sum.statements).toHaveLength(2);
  });
});
