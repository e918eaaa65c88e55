import { getPriority } from 'node:os';
import { yieldToOthers } from '../../src/worker/yield-to-others.ts';

/**
 * Yields to other processes, and prints its niceness
 * (test/unit/worker/yield-to-others.test.ts).
 */
yieldToOthers();
process.stdout.write(String(getPriority()));
