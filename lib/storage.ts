import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { tableSchemas } from '../shared/contracts/table-schemas.ts';
import { allow } from './service-function.ts';
import { type Settings, STREAM_ARN } from './settings.ts';

type TableAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem';

type TableSchema = (typeof tableSchemas)[keyof typeof tableSchemas];

/** Deliveries is given by the ARN of its stream, which contains the name of the table. */
const existingTable = (scope: Construct, nameOrStreamArn: string) => {
  const [, tableArn] = STREAM_ARN.exec(nameOrStreamArn) ?? [];
  return tableArn === undefined
    ? Table.fromTableName(scope, 'Table', nameOrStreamArn)
    : Table.fromTableAttributes(scope, 'Table', { tableArn, tableStreamArn: nameOrStreamArn });
};

/**
 * An encrypted on-demand table with point-in-time recovery. The stack retains it unless `deletionProtection` is false.
 * With `existingTables`, the stack uses a table that it neither creates nor manages.
 */
class ServiceTable extends Construct {
  readonly table: Pick<ITable, 'tableArn' | 'tableName'> & { tableStreamArn?: string | undefined };

  constructor(
    scope: Construct,
    id: keyof Settings['existingTables'],
    { partitionKey, sortKey, ttl }: TableSchema,
    { existingTables, deletionProtection }: Settings,
    stream?: StreamViewType,
  ) {
    super(scope, id);
    const existing = existingTables[id];
    this.table =
      existing !== undefined
        ? existingTable(this, existing)
        : new Table(this, 'Table', {
            partitionKey: { name: partitionKey, type: AttributeType.STRING },
            ...(sortKey !== undefined && { sortKey: { name: sortKey, type: AttributeType.STRING } }),
            timeToLiveAttribute: ttl,
            billingMode: BillingMode.PAY_PER_REQUEST,
            encryption: TableEncryption.DEFAULT,
            ...(stream && { stream }),
            pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
            deletionProtection,
            removalPolicy: deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
          });
  }

  allow(...actions: TableAction[]): PolicyStatement {
    return allow(
      actions.map((action) => `dynamodb:${action}`),
      [this.table.tableArn],
    );
  }
}

/** The DynamoDB tables of the service (docs/decisions/storage.md#tables), and the stream of Deliveries. */
export const createStorage = (parent: Construct, settings: Settings) => {
  const scope = new Construct(parent, 'Storage');
  const create = (id: keyof Settings['existingTables'], schema: TableSchema, stream?: StreamViewType) =>
    new ServiceTable(scope, id, schema, settings, stream);
  const deliveries = create('Deliveries', tableSchemas.deliveries, StreamViewType.NEW_AND_OLD_IMAGES);
  const { tableStreamArn: streamArn } = deliveries.table;
  if (streamArn === undefined) throw new Error('The table Deliveries has no stream.');
  return {
    notifications: create('Notifications', tableSchemas.notifications),
    accounts: create('Accounts', tableSchemas.accounts),
    tokens: create('Tokens', tableSchemas.tokens),
    deliveries,
    audits: create('Audits', tableSchemas.audits),
    streamArn,
  };
};

export type Storage = ReturnType<typeof createStorage>;
