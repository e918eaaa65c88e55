import { loadWorkflowBundle } from '../src/temporal/workflow-bundle.ts';

// Run while an image is built, which cannot keep what its processes would
// bundle.
await loadWorkflowBundle();
