/** A worker for workflows of your own, which call the interface by its endpoint activities. */

export {
  createOrchestratorWorker,
  type OrchestratorWorker,
  type OrchestratorWorkerOptions,
} from '../worker/orchestrator-worker.ts';
