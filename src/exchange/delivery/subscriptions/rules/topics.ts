[
  {
    "id": "patient-data-feed",
    "url": "http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed",
    "triggers": [
      {
        "system": "http://hl7.org/fhir/us/core/CodeSystem/trigger",
        "code": "feed-event"
      },
      {
        "system": "urn:medical-exchange:change",
        "code": "create"
      },
      {
        "system": "urn:medical-exchange:change",
        "code": "update"
      },
      {
        "system": "urn:medical-exchange:change",
        "code": "delete"
      }
    ],
    "basic": {
      "resourceType": "Basic",
      "id": "patient-data-feed",
      "modifierExtension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.status",
          "valueCode": "active"
        }
      ],
      "extension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.url",
          "valueUri": "http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.title",
          "valueString": "A patient's data changed"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.description",
          "valueMarkdown": "A resource of a patient's consolidated record was created, changed or has gone. The focus is the resource."
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.resourceTrigger",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "A resource of a patient's consolidated record was created, changed or has gone. The focus is the resource."
            },
            {
              "url": "resource",
              "valueUri": "http://hl7.org/fhir/StructureDefinition/DomainResource"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The patients whom the event is about"
            },
            {
              "url": "filterParameter",
              "valueString": "patient"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The codes of the event"
            },
            {
              "url": "filterParameter",
              "valueString": "trigger"
            }
          ]
        }
      ],
      "code": {
        "coding": [
          {
            "system": "http://hl7.org/fhir/fhir-types",
            "code": "SubscriptionTopic"
          }
        ]
      }
    }
  },
  {
    "id": "encounter-notifications",
    "url": "urn:medical-exchange:topic:encounter-notifications",
    "type": "Patient",
    "triggers": [
      {
        "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
        "code": "A01"
      },
      {
        "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
        "code": "A02"
      },
      {
        "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
        "code": "A03"
      }
    ],
    "basic": {
      "resourceType": "Basic",
      "id": "encounter-notifications",
      "modifierExtension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.status",
          "valueCode": "active"
        }
      ],
      "extension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.url",
          "valueUri": "urn:medical-exchange:topic:encounter-notifications"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.title",
          "valueString": "An encounter of a patient began or ended"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.description",
          "valueMarkdown": "A sender notified that the patient was admitted, transferred or discharged. The focus is the Patient."
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.eventTrigger",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "A sender notified that the patient was admitted, transferred or discharged. The focus is the Patient."
            },
            {
              "url": "event",
              "valueCodeableConcept": {
                "coding": [
                  {
                    "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
                    "code": "A01"
                  },
                  {
                    "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
                    "code": "A02"
                  },
                  {
                    "system": "http://terminology.hl7.org/CodeSystem/v2-0003",
                    "code": "A03"
                  }
                ]
              }
            },
            {
              "url": "resource",
              "valueUri": "http://hl7.org/fhir/StructureDefinition/Patient"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The patients whom the event is about"
            },
            {
              "url": "filterParameter",
              "valueString": "patient"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The codes of the event"
            },
            {
              "url": "filterParameter",
              "valueString": "trigger"
            }
          ]
        }
      ],
      "code": {
        "coding": [
          {
            "system": "http://hl7.org/fhir/fhir-types",
            "code": "SubscriptionTopic"
          }
        ]
      }
    }
  },
  {
    "id": "query-completed",
    "url": "urn:medical-exchange:topic:query-completed",
    "type": "Patient",
    "triggers": [
      {
        "system": "urn:medical-exchange:source",
        "code": "hie"
      },
      {
        "system": "urn:medical-exchange:source",
        "code": "pharmacy"
      },
      {
        "system": "urn:medical-exchange:source",
        "code": "lab"
      },
      {
        "system": "urn:medical-exchange:query-status",
        "code": "completed"
      },
      {
        "system": "urn:medical-exchange:query-status",
        "code": "failed"
      }
    ],
    "basic": {
      "resourceType": "Basic",
      "id": "query-completed",
      "modifierExtension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.status",
          "valueCode": "active"
        }
      ],
      "extension": [
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.url",
          "valueUri": "urn:medical-exchange:topic:query-completed"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.title",
          "valueString": "A source has answered a network query"
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.description",
          "valueMarkdown": "The answer of a source to a network query about the patient is complete, or the source has failed. The focus is the Patient."
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.eventTrigger",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The answer of a source to a network query about the patient is complete, or the source has failed. The focus is the Patient."
            },
            {
              "url": "event",
              "valueCodeableConcept": {
                "coding": [
                  {
                    "system": "urn:medical-exchange:source",
                    "code": "hie"
                  },
                  {
                    "system": "urn:medical-exchange:source",
                    "code": "pharmacy"
                  },
                  {
                    "system": "urn:medical-exchange:source",
                    "code": "lab"
                  },
                  {
                    "system": "urn:medical-exchange:query-status",
                    "code": "completed"
                  },
                  {
                    "system": "urn:medical-exchange:query-status",
                    "code": "failed"
                  }
                ]
              }
            },
            {
              "url": "resource",
              "valueUri": "http://hl7.org/fhir/StructureDefinition/Patient"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The patients whom the event is about"
            },
            {
              "url": "filterParameter",
              "valueString": "patient"
            }
          ]
        },
        {
          "url": "http://hl7.org/fhir/5.0/StructureDefinition/extension-SubscriptionTopic.canFilterBy",
          "extension": [
            {
              "url": "description",
              "valueMarkdown": "The codes of the event"
            },
            {
              "url": "filterParameter",
              "valueString": "trigger"
            }
          ]
        }
      ],
      "code": {
        "coding": [
          {
            "system": "http://hl7.org/fhir/fhir-types",
            "code": "SubscriptionTopic"
          }
        ]
      }
    }
  }
]
