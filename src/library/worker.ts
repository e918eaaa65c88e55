/** A worker for your own workflows, which call the interface through the endpoint activities. */

export {
  createOrchestratorWorker,
  type OrchestratorWorker,
  type OrchestratorWorkerOptions,
} from '../worker/orchestrator-worker.ts';
