import { inject } from 'vitest';
import { connectApi } from '../../support/api.ts';

export { type ApiAnswer, type Client, newTenant, webhook } from '../../support/api.ts';

/**
 * Whether the stack runs on this machine. Only then does it reach a server of a test, and is there an inbox: what needs
 * either is not there where the tests run against a deployed stack.
 */
export const isLocal = inject('stack').inbox_url !== undefined;

/** The stack that runs for all end-to-end tests. */
export const { table, awsOptions, documents, tokenFor, call, newClient } = connectApi(inject('stack'));
