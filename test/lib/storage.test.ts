import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../lib/settings.ts';
import { Storage } from '../../lib/storage.ts';
import { withOutputDirectory } from '../support/stack.ts';

const storageOf = (context = {}) =>
  withOutputDirectory((outdir) => {
    const stack = new Stack(new App({ outdir, builtinCloudFormationValidation: false }));
    const storage = new Storage(stack, 'Storage', parseSettings(context));
    return { stack, storage, template: Template.fromStack(stack) };
  });

const { template } = storageOf();

describe('every table', () => {
  it('is on demand, with point-in-time recovery and deletion protection', () => {
    template.resourceCountIs('AWS::DynamoDB::Table', 5);
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
    });
    template.allResources('AWS::DynamoDB::Table', { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  });

  it('deletes expired items by TTL', () => {
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
  });

  it('is deleted with the stack if deletionProtection is false', () => {
    const temporary = storageOf({ deletionProtection: 'false' }).template;
    temporary.allResources('AWS::DynamoDB::Table', { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
    temporary.allResourcesProperties('AWS::DynamoDB::Table', { DeletionProtectionEnabled: false });
  });
});

describe('an existing table', () => {
  const { stack, storage, template } = storageOf({
    existingTables: 'Deliveries=Deliveries-restored, Tokens=old.Tokens_1',
  });

  it('is used instead of a new one, with the same access', () => {
    const { environment, statements } = storage.deliveries.access('GetItem');
    expect(stack.resolve(environment)).toEqual({ DELIVERIES_TABLE: 'Deliveries-restored' });
    expect(statements.map((statement) => stack.resolve(statement.resources))).toEqual([
      [expect.objectContaining({ 'Fn::Join': ['', expect.arrayContaining([':table/Deliveries-restored'])] })],
    ]);
    expect(storage.tokens.table.tableName).toBe('old.Tokens_1');
  });

  it('is not in the template, and the other tables keep their logical IDs', () => {
    const ids = (of: Template) => Object.keys(of.findResources('AWS::DynamoDB::Table'));
    expect(ids(template)).toEqual(ids(storageOf().template).filter((id) => !/^Storage(Deliveries|Tokens)/.test(id)));
    expect(ids(template)).toHaveLength(3);
  });
});
