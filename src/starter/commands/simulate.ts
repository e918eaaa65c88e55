import { isDeepStrictEqual } from 'node:util';
import { createSimulatorAdmin } from '../../../tools/simulator/admin-client.ts';
import type { CountedRule, Fault, FaultRuleInput } from '../../../tools/simulator/faults/rules.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { EXIT } from '../exit-codes.ts';
import { findSample } from '../input/patients.ts';
import { renderTable } from '../table.ts';
import { requireStack } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import troubles from './troubles.json' with { type: 'json' };

/** What a source of the stack's simulator can be made to do; the simulator checks each fault that it is sent. */
export const TROUBLES = troubles as Readonly<
  Record<keyof typeof troubles, { help: string; fault: FaultRuleInput['fault'] }>
>;
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
