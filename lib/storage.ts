import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { tableSchemas } from '../shared/contracts/table-schemas.ts';
import { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';

type Schema = { readonly partitionKey: string; readonly sortKey: string | undefined; readonly ttl: string };

/** What our repositories do with tables. */
type TableAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem';

/** A table on demand, encrypted, with point-in-time recovery; kept with its data unless the settings say otherwise. */
class ServiceTable<Environment> extends Construct {
  readonly table: Table;
  readonly #tell: (tableName: string) => Environment;

  /** @param tell the variables by which a function learns the table's name */
  constructor(scope: Construct, id: string, schema: Schema, settings: Settings, tell: (name: string) => Environment) {
    super(scope, id);
    this.#tell = tell;
    this.table = new Table(this, 'Table', {
      partitionKey: { name: schema.partitionKey, type: AttributeType.STRING },
      ...(schema.sortKey !== undefined && { sortKey: { name: schema.sortKey, type: AttributeType.STRING } }),
      timeToLiveAttribute: schema.ttl,
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.DEFAULT,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: settings.deletionProtection,
      removalPolicy: settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
  }

  /** Lets a function do exactly these things with the table. */
  access(...actions: TableAction[]): ResourceAccess<Environment> {
    const statement = new PolicyStatement({
      actions: actions.map((action) => `dynamodb:${action}`),
      resources: [this.table.tableArn],
    });
    return new ResourceAccess(this.#tell(this.table.tableName), [statement]);
  }
}

/** The tables of the service (design 2 and 3). */
export class Storage extends Construct {
  readonly notifications: ServiceTable<{ NOTIFICATIONS_TABLE: string }>;
  readonly accounts: ServiceTable<{ ACCOUNTS_TABLE: string }>;
  readonly tokens: ServiceTable<{ TOKENS_TABLE: string }>;
  readonly deliveries: ServiceTable<{ DELIVERIES_TABLE: string }>;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const { notifications, accounts, tokens, deliveries } = tableSchemas;
    this.notifications = new ServiceTable(this, 'Notifications', notifications, settings, (name) => ({
      NOTIFICATIONS_TABLE: name,
    }));
    this.accounts = new ServiceTable(this, 'Accounts', accounts, settings, (name) => ({ ACCOUNTS_TABLE: name }));
    this.tokens = new ServiceTable(this, 'Tokens', tokens, settings, (name) => ({ TOKENS_TABLE: name }));
    this.deliveries = new ServiceTable(this, 'Deliveries', deliveries, settings, (name) => ({
      DELIVERIES_TABLE: name,
    }));
  }
}
