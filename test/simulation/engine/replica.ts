import type { AwsCall } from 'local-aws/aws-service.ts';
import type { Clock } from 'local-aws/clock.ts';
import type { TableDefinition } from 'local-aws/dynamodb/table.ts';
import { type Change, Tables } from 'local-aws/dynamodb/tables.ts';

/** Tables whose changes reach a replica later, in their order. */
export class ReplicatedTables extends Tables {
  /** What an eventually consistent read finds. */
  readonly replica = new Tables();
  readonly #clock: Clock;
  readonly #lagMs: number;

  /** @param lagMs how much later, in ms */
  constructor(clock: Clock, lagMs: number) {
    super();
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  override create(definition: TableDefinition) {
    this.replica.create(definition);
    return super.create(definition);
  }

  override write(changes: readonly Change[]): void {
    super.write(changes);
    const copied = changes.map((change) => ({ ...change, table: this.replica.get(change.table.definition.name) }));
    this.#clock.after(this.#lagMs, () => this.replica.write(copied));
  }
}

const READS = ['GetItem', 'BatchGetItem', 'Query'];

/** Returns whether a call may find items as they were before. Its body is built only if it is read. */
export const isEventuallyConsistent = (call: AwsCall): boolean =>
  READS.includes(call.action) &&
  !(call.input ? JSON.stringify(call.input) : call.body).includes('"ConsistentRead":true');
