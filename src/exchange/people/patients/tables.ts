import type { Generated } from 'kysely';
import type {
  DefaultJsonColumn,
  JsonColumn,
} from '../../platform/database/schema.ts';
import type {
  Address,
  Contact,
  Gender,
  PersonalIdentifier,
} from './rules/demographics.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    patient: {
      id: string;
      account_id: string;
      external_id: string | null;
      former_external_ids: DefaultJsonColumn<string[]>;
      first_names: string[];
      last_names: string[];
      /** YYYY-MM-DD */
      dob: string;
      gender: Gender;
      addresses: JsonColumn<Address[]>;
      contacts: DefaultJsonColumn<Contact[]>;
      personal_identifiers: DefaultJsonColumn<PersonalIdentifier[]>;
      additional_identifiers: DefaultJsonColumn<Record<string, string[]>>;
      facility_ids: string[];
      hie_opt_out: Generated<boolean>;
      treatment_relationship: Generated<boolean>;
      version: Generated<number>;
      created_at: Instant;
      updated_at: Instant;
    };
    patient_identity_key: {
      account_id: string;
      key: Buffer;
      patient_id: string;
    };
    legal_hold: {
      id: string;
      account_id: string;
      patient_id: string;
      /** An operator's statement, without patient data. */
      placed_by: string;
      reason: string;
      placed_at: Instant;
    };
  }
}
