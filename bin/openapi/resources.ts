import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import type { Operation, Resource } from './operation.ts';
import { accountResource } from './resources/account.ts';
import { deliveryResource } from './resources/deliveries.ts';
import { notificationResource, notificationTypeResource, testResource } from './resources/notifications.ts';
import { auditResource, tokenResource } from './resources/tokens.ts';

/** The resources of the API, in the order of the document. */
export const resources: readonly Resource[] = [
  notificationResource,
  testResource,
  notificationTypeResource,
  deliveryResource,
  accountResource,
  tokenResource,
  auditResource,
];

/** The operations of the API. The compiler requires an entry for every endpoint. */
export const operations: Record<EndpointName, Operation> = {
  ...notificationResource.operations,
  ...testResource.operations,
  ...notificationTypeResource.operations,
  ...deliveryResource.operations,
  ...accountResource.operations,
  ...tokenResource.operations,
  ...auditResource.operations,
};
