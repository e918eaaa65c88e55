import type { FastifyRequest } from 'fastify';
import type { Store } from '../../platform/database/database.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { createReadAudit } from '../../platform/http/write.ts';

export interface FhirReadAudit {
  /** Writes an entry for each patient whose data the response contains, before it is sent; without one, a single entry. */
  write(request: FastifyRequest, patientIds: readonly string[], targetId?: string): Promise<void>;
}

export function createFhirReadAudit(store: Store): FhirReadAudit {
  const audit = createReadAudit(store);
  return {
    async write(request, patientIds, targetId) {
      const { account, actor } = callerOf(request);
      const operation = request.routeOptions.config.operation ?? 'unknown';
      const record = { accountId: account.id, actor, operation, outcome: '200', remoteAddress: request.ip };
      const patients = patientIds.length === 0 ? [undefined] : [...new Set(patientIds)];
      await Promise.all(patients.map((patientId) => audit.run({ ...record, patientId, targetId })));
    },
  };
}
