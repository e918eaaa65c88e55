import { createRequire } from 'node:module';
import type { temporal } from '@temporalio/proto';

const require = createRequire(import.meta.url);
const proto: { temporal: typeof temporal } = require('@temporalio/proto');

/**
 * Temporal's messages and enums. Uses `require`, because Node cannot detect the
 * named exports of `@temporalio/proto`.
 */
export const { Payload } = proto.temporal.api.common.v1;
export const { EventType, IndexedValueType } = proto.temporal.api.enums.v1;
export const { History } = proto.temporal.api.history.v1;
