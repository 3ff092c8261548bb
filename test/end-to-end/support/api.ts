import { expect, inject } from 'vitest';
import { connectApi } from '../../support/api.ts';
import { responseViolations } from '../../support/api-description.ts';

export { type Client, newTenant, webhook } from '../../support/api.ts';

/** Whether the stack runs on this machine. Only a local stack has an inbox and reaches the servers of tests. */
export const isLocal = inject('stack').inbox_url !== undefined;

/** The API and tables of the stack that all end-to-end tests share. Each response must match the OpenAPI document. */
export const { table, awsOptions, documents, tokenFor, call, newClient } = connectApi(
  inject('stack'),
  (method, path, response) => {
    const violations = responseViolations(method, path, response);
    expect(violations, `${method} ${path} ${response.status} ${response.text.slice(0, 1000)}`).toEqual([]);
  },
);
