/**
 * The interface: all operations with their schemas, types and errors, and the
 * events that webhooks carry. Contains no I/O, so clients, servers and
 * workflows may import it.
 */

export * from '../contract/bulk-create.ts';
export * from '../contract/cohorts.ts';
export * from '../contract/consolidated-query.ts';
export * from '../contract/documents.ts';
export * from '../contract/endpoint.ts';
export * from '../contract/endpoints.ts';
export * from '../contract/errors.ts';
export * from '../contract/events.ts';
export * from '../contract/facilities.ts';
export * from '../contract/identity.ts';
export * from '../contract/messages.ts';
export * from '../contract/network-query.ts';
export * from '../contract/notifications.ts';
export * from '../contract/paging.ts';
export * from '../contract/patients.ts';
export * from '../contract/primitives.ts';
export * from '../contract/scope.ts';
export * from '../contract/settings.ts';
export * from '../contract/webhooks.ts';
