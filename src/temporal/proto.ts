import { createRequire } from 'node:module';
import type { temporal } from '@temporalio/proto';

const require = createRequire(import.meta.url);
const proto: { temporal: typeof temporal } = require('@temporalio/proto');

/** Temporal's messages and enums. `@temporalio/proto` is CommonJS whose names Node cannot see, hence `require`. */
export const { Payload } = proto.temporal.api.common.v1;
export const { EventType, IndexedValueType } = proto.temporal.api.enums.v1;
export const { History } = proto.temporal.api.history.v1;
