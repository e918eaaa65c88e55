import type { documentEndpoints } from '../../../../../contract/documents-endpoints.ts';
import { AT, IDS, link, type OperationExamples } from './example.ts';

const fileName = `hie-${IDS.document}.pdf`;

export const documentExamples: OperationExamples<keyof typeof documentEndpoints> = {
  listDocuments: {
    query: { patientId: IDS.patient },
    answer: {
      documents: [
        {
          resourceType: 'DocumentReference',
          id: IDS.document,
          status: 'current',
          meta: { lastUpdated: AT, source: fileName },
          subject: { reference: `Patient/${IDS.patient}` },
          content: [{ attachment: { contentType: 'application/pdf', size: 48_211, title: fileName } }],
        },
      ],
    },
  },
  getDocumentUrl: { query: { fileName }, answer: { url: link('document') } },
  startBulkDocumentUrls: {
    query: { patientId: IDS.patient },
    answer: { status: 'processing', requestId: '01923ea4-1a2b-7c3d-8e4f-506172839405' },
  },
};
