import type { SeededRandom } from '../../../test/support/seeded-random.ts';

/** The kinds of faults, and what each can befall. */
export const FAULT_TARGETS = {
  killed: [
    'worker',
    'worker-b',
    'gateway',
    'Temporal',
    'PostgreSQL',
    'receiver',
  ],
  stopped: [
    'worker',
    'worker-b',
    'gateway',
    'Temporal',
    'PostgreSQL',
    'receiver',
    'simulator',
  ],
  'line cut': ['hie', 'lab', 'pharmacy', 'PostgreSQL', 'Temporal'],
  'line silent': ['hie', 'lab', 'pharmacy', 'PostgreSQL', 'Temporal'],
  'line slow': ['hie', 'lab', 'pharmacy', 'PostgreSQL', 'Temporal'],
  'source refuses everybody': ['hie', 'lab', 'pharmacy'],
  'deploy forward and back': ['workers'],
} as const;
export type FaultKind = keyof typeof FAULT_TARGETS;
export const FAULT_KINDS = Object.keys(FAULT_TARGETS) as FaultKind[];

export interface Fault {
  kind: string;
  target: string;
  seconds: number;
  /** Before the next fault. */
  pauseSeconds: number;
}

export interface PlannedFault extends Fault {
  kind: FaultKind;
}

const SHORT = { from: 5, to: 60 };
/** Longer than the breaker takes to open and to send its first probes. */
const OUTAGE = { from: 60, to: 180 };

/**
 * Kills cost the least time and lose the most state, so each round of the kinds
 * has three of them.
 */
export const ROUND: readonly FaultKind[] = [...FAULT_KINDS, 'killed', 'killed'];

/**
 * Endless rounds of all kinds; each kind with every target before one comes
 * again.
 */
export function* planFaults(random: SeededRandom): Generator<PlannedFault> {
  const waiting = new Map<FaultKind, string[]>();
  for (;;) {
    for (const kind of random.shuffle(ROUND)) {
      const left = waiting.get(kind) ?? [];
      if (left.length === 0)
        left.push(...random.shuffle<string>(FAULT_TARGETS[kind]));
      const target = left.pop() ?? '';
      waiting.set(kind, left);
      const { from, to } = kind === 'source refuses everybody' ? OUTAGE : SHORT;
      const seconds = kind === 'killed' ? 0 : random.between(from, to);
      yield { kind, target, seconds, pauseSeconds: random.between(2, 12) };
    }
  }
}

/** For the short form: each kind once, for seconds. */
export function planBriefly(random: SeededRandom): PlannedFault[] {
  return random.shuffle(FAULT_KINDS).map((kind) => {
    const { from, to } =
      kind === 'source refuses everybody'
        ? { from: 12, to: 20 }
        : { from: 3, to: 8 };
    return {
      kind,
      target: random.pick<string>(FAULT_TARGETS[kind]),
      seconds: kind === 'killed' ? 0 : random.between(from, to),
      pauseSeconds: random.between(1, 3),
    };
  });
}
