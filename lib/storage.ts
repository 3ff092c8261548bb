import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { tableSchemas } from '../shared/contracts/table-schemas.ts';
import { allow, ResourceAccess } from './resource-access.ts';
import { type Settings, STREAM_ARN } from './settings.ts';

type Schema = { readonly partitionKey: string; readonly sortKey: string | undefined; readonly ttl: string };

/** The DynamoDB actions that the repositories use. */
type TableAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem';

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
class ServiceTable<Environment> extends Construct {
  readonly table: Pick<ITable, 'tableArn' | 'tableName'> & { tableStreamArn?: string | undefined };
  readonly #toEnvironment: (tableName: string) => Environment;

  /**
   * @param toEnvironment returns the environment variables that contain the table name
   * @param stream what the stream of the table contains; by default it has none
   */
  constructor(
    scope: Construct,
    id: keyof Settings['existingTables'],
    schema: Schema,
    settings: Settings,
    toEnvironment: (tableName: string) => Environment,
    stream?: StreamViewType,
  ) {
    super(scope, id);
    this.#toEnvironment = toEnvironment;
    const { existingTables, deletionProtection } = settings;
    const existing = existingTables[id];
    this.table =
      existing !== undefined
        ? existingTable(this, existing)
        : new Table(this, 'Table', {
            partitionKey: { name: schema.partitionKey, type: AttributeType.STRING },
            ...(schema.sortKey !== undefined && { sortKey: { name: schema.sortKey, type: AttributeType.STRING } }),
            timeToLiveAttribute: schema.ttl,
            billingMode: BillingMode.PAY_PER_REQUEST,
            encryption: TableEncryption.DEFAULT,
            ...(stream && { stream }),
            pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
            deletionProtection,
            removalPolicy: deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
          });
  }

  /** Grants permission for these actions on the table. */
  access(...actions: TableAction[]): ResourceAccess<Environment> {
    const { tableName, tableArn } = this.table;
    const names = actions.map((action) => `dynamodb:${action}`);
    return new ResourceAccess(this.#toEnvironment(tableName), allow(names, [tableArn]));
  }
}

/** The DynamoDB tables of the service (docs/decisions/storage.md#tables). */
export class Storage extends Construct {
  readonly notifications: ServiceTable<{ NOTIFICATIONS_TABLE: string }>;
  readonly accounts: ServiceTable<{ ACCOUNTS_TABLE: string }>;
  readonly tokens: ServiceTable<{ TOKENS_TABLE: string }>;
  readonly deliveries: ServiceTable<{ DELIVERIES_TABLE: string }>;
  readonly audits: ServiceTable<{ AUDITS_TABLE: string }>;
  /** The stream of the Deliveries table, with old and new images. */
  readonly streamArn: string;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const { notifications, accounts, tokens, deliveries, audits } = tableSchemas;
    this.notifications = new ServiceTable(this, 'Notifications', notifications, settings, (name) => ({
      NOTIFICATIONS_TABLE: name,
    }));
    this.accounts = new ServiceTable(this, 'Accounts', accounts, settings, (name) => ({ ACCOUNTS_TABLE: name }));
    this.tokens = new ServiceTable(this, 'Tokens', tokens, settings, (name) => ({ TOKENS_TABLE: name }));
    this.deliveries = new ServiceTable(
      this,
      'Deliveries',
      deliveries,
      settings,
      (name) => ({ DELIVERIES_TABLE: name }),
      StreamViewType.NEW_AND_OLD_IMAGES,
    );
    const { tableStreamArn } = this.deliveries.table;
    if (tableStreamArn === undefined) throw new Error('The table Deliveries has no stream.');
    this.streamArn = tableStreamArn;
    this.audits = new ServiceTable(this, 'Audits', audits, settings, (name) => ({ AUDITS_TABLE: name }));
  }
}
