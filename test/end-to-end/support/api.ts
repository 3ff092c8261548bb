import { inject } from 'vitest';
import { connectApi } from '../../support/api.ts';

export { type ApiAnswer, type Client, newTenant, webhook } from '../../support/api.ts';

/** The stack that runs for all end-to-end tests. */
export const { table, awsOptions, documents, tokenFor, call, newClient } = connectApi(inject('stack'));
