import { ENCOUNTER_EVENTS } from '../../../tools/simulator/notifications/request.ts';

/** What the stack's simulator can notify the gateway of. */
export const SIMULATED_EVENTS = [...ENCOUNTER_EVENTS, 'fill', 'result'] as const;
export type SimulatedEvent = (typeof SIMULATED_EVENTS)[number];
