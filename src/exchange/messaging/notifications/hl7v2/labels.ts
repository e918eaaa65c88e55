import type { Coding } from 'fhir/r4.js';
import type { ReportedResource } from '../rules/present-resources.ts';
import type { Hl7Message } from './message.ts';

const RESTRICTED: Coding = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
  code: 'R',
  display: 'restricted',
};

/**
 * The security labels of everything that a message reports: its person is protected (PD1-12), or is a VIP of some kind
 * (PV1-16). Undefined when it says nothing of either.
 */
export function labelsIn(message: Hl7Message): Coding[] | undefined {
  const [isProtected, vip] = [message.segment('PD1')?.value(12), message.segment('PV1')?.value(16)];
  if (isProtected === undefined && vip === undefined) return undefined;
  return [
    ...(isProtected === 'Y' ? [RESTRICTED] : []),
    ...(vip === undefined ? [] : [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0099', code: vip }]),
  ];
}

export function withLabels(
  resource: ReportedResource['resource'],
  labels: readonly Coding[],
): ReportedResource['resource'] {
  const { security = [], ...meta } = resource.meta ?? {};
  return { ...resource, meta: { ...meta, security: [...security, ...labels] } };
}
