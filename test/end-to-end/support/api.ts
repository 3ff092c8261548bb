import { inject } from 'vitest';
import { connectApi } from '../../support/api.ts';

export { type Client, newTenant, webhook } from '../../support/api.ts';

/** Whether the stack runs on this machine. Only a local stack has an inbox and reaches the servers of tests. */
export const isLocal = inject('stack').inbox_url !== undefined;

/** The API and tables of the stack that all end-to-end tests share. */
export const { table, awsOptions, documents, tokenFor, call, newClient } = connectApi(inject('stack'));
