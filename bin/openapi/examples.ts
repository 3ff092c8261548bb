import { collection } from '../../shared/contracts/collection.ts';

/** A request or response body with the sentence that names it. */
export type Example = { readonly summary: string; readonly value: unknown };

/** Examples by name, as OpenAPI has them. */
export type Examples = Readonly<Record<string, Example>>;

const BASE_URL = 'https://alerts.example.com';

/** The time of all examples, ms since the epoch: 2026-11-21 21:11:18 UTC. */
export const EXAMPLE_TIME_MS = 1_795_295_478_841;

/** The ID of the request that causes an error in an example. */
export const EXAMPLE_REQUEST_ID = '6151409b-62d8-4fa3-a616-a34bad10f0ba';

/** The URL of the notification in the examples. */
export const EXAMPLE_LOCATION = `${BASE_URL}/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1`;

/** Returns the page of a list with one record, which is not the last page. */
export const firstPage = (path: string, record: unknown, nextMarker: string) =>
  collection(
    { values: [record], next: nextMarker },
    { limit: 1, marker: null },
    { href: `${BASE_URL}${path}`, query: new URLSearchParams() },
  );

/** Returns the only page of a list. */
export const onlyPage = (path: string, values: unknown[]) =>
  collection(
    { values, next: null },
    { limit: 50, marker: null },
    { href: `${BASE_URL}${path}`, query: new URLSearchParams() },
  );

/** The ID of the alarm event in the examples. */
export const EXAMPLE_EVENT_ID = `acme:enWeb1:alDisk:chDisk:${EXAMPLE_TIME_MS}:CRITICAL`;
