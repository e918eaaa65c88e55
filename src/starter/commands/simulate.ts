import { isDeepStrictEqual } from 'node:util';
import type { SourceType } from '../../contract/primitives.ts';
import { createSimulatorAdmin } from '../../simulator/admin-client.ts';
import type { CountedRule, Fault, FaultRuleInput } from '../../simulator/faults/rules.ts';
import { EXIT } from '../exit-codes.ts';
import { findSample } from '../input/patients.ts';
import { renderTable } from '../table.ts';
import { requireStack } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

const SLOW_SECONDS = 20;

/** What a source of the stack's simulator can be made to do. */
export const TROUBLES = {
  slow: {
    help: `answers every request ${SLOW_SECONDS} seconds late`,
    fault: { type: 'latency', ms: SLOW_SECONDS * 1_000 },
  },
  down: { help: 'answers every request with 503', fault: { type: 'status', status: 503 } },
  'refuses-us': {
    help: 'refuses our credentials with 401, as after an expired secret',
    fault: { type: 'status', status: 401 },
  },
  'refuses-patient': {
    help: 'refuses the patient with 403: there is no consent',
    fault: { type: 'status', status: 403, code: 'suppressed' },
  },
  'unknown-patient': { help: 'does not know the patient', fault: { type: 'unknown-patient' } },
  'failing-job': { help: 'accepts a request, then fails it', fault: { type: 'job-fails' } },
  'endless-job': { help: 'accepts a request and never finishes it', fault: { type: 'job-never-ends' } },
  'lost-callback': { help: 'never calls back; the exchange polls', fault: { type: 'no-callback' } },
  'doubled-callback': { help: 'calls back twice', fault: { type: 'doubled-callback' } },
} as const satisfies Record<string, { help: string; fault: FaultRuleInput['fault'] }>;
export type Trouble = keyof typeof TROUBLES;

export interface SimulateOptions extends CommonOptions {
  sample?: string;
  times?: number;
}

/**
 * Makes a source of the stack's simulator misbehave. It replaces what the same source (and sample) was made to do before.
 * Throws UsageError.
 */
export async function simulateSet(
  source: SourceType,
  trouble: Trouble,
  { sample, times }: SimulateOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  if (sample !== undefined) findSample(sample);
  const admin = adminOf(target);
  const others = (await admin.rules()).filter((rule) => rule.source !== source || rule.sample !== sample);
  await admin.setRules([
    { source, sample, times, fault: TROUBLES[trouble].fault },
    ...others.flatMap(remaining),
  ]);
  return report('simulate set', await admin.rules(), ['', 'End it with: npm run starter -- simulate clear']);
}

/** Lists what the sources are made to do, and how often they did it. Throws UsageError. */
export async function simulateList(
  _options: CommonOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  return report('simulate list', await adminOf(target).rules());
}

/** Makes all sources behave again. Throws UsageError. */
export async function simulateClear(
  _options: CommonOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  await adminOf(target).clearRules();
  return report('simulate clear', []);
}

function adminOf(target: CommandContext['target']) {
  const { simulatorUrl, simulatorAdminToken } = requireStack(target).connection;
  return createSimulatorAdmin(simulatorUrl, simulatorAdminToken);
}

/** The rule as it still applies: setting rules anew starts their counts at zero. */
function remaining({ applied, times, ...rule }: CountedRule): FaultRuleInput[] {
  if (times === undefined) return [rule];
  return times > applied ? [{ ...rule, times: times - applied }] : [];
}

function report(command: string, rules: readonly CountedRule[], more: readonly string[] = []): CommandResult {
  const rows = rules.map(({ source, sample, fault, applied, times }) => [
    ...[
      source ?? 'all',
      sample ?? 'all',
      nameOf(fault),
      String(applied),
      times === undefined ? '' : String(times),
    ],
  ]);
  const head = ['source', 'sample patient', 'behaviour', 'applied', 'at most'];
  return {
    exitCode: EXIT.done,
    lines: rows.length === 0 ? ['All sources behave.'] : [...renderTable(head, rows), ...more],
    document: { command, rules },
  };
}

/** The name of a fault on the command line; the simulator's own name for faults that a test or the demo has set. */
const nameOf = (fault: Fault): string =>
  Object.entries(TROUBLES).find(([, known]) => isDeepStrictEqual({ ...fault, ...known.fault }, fault))?.[0] ??
  fault.type;
