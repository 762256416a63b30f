//! The one table of error codes and their statuses, which are Supabase Auth's.

use std::borrow::Cow;

use http::StatusCode;

use crate::Error;

/// Defines [`Code`] from lines of status, variant and name.
macro_rules! codes {
    ($($status:literal: $($variant:ident $name:literal),+;)+) => {
        /// What programs tell refusals apart by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Code {
            $($(#[doc = concat!("`", $name, "`, usually with status ", $status)] $variant,)+)+
        }

        impl Code {
            /// Returns the name that clients get.
            pub(crate) const fn name(self) -> &'static str {
                match self { $($(Code::$variant => $name,)+)+ }
            }

            /// Returns the status that this code usually comes with.
            pub(crate) fn status(self) -> StatusCode {
                let status: u16 = match self { $($(Code::$variant => $status,)+)+ };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    };
}

codes! {
    400:
        ValidationFailed "validation_failed",
        BadJson "bad_json",
        InvalidCredentials "invalid_credentials",
        EmailNotConfirmed "email_not_confirmed",
        PhoneNotConfirmed "phone_not_confirmed",
        RefreshTokenNotFound "refresh_token_not_found",
        RefreshTokenAlreadyUsed "refresh_token_already_used",
        SessionExpired "session_expired",
        BadCodeVerifier "bad_code_verifier",
        BadOauthState "bad_oauth_state",
        BadOauthCallback "bad_oauth_callback",
        OauthProviderNotSupported "oauth_provider_not_supported",
        OauthInvalidState "oauth_invalid_state",
        FlowStateAlreadyUsed "flow_state_already_used",
        CaptchaFailed "captcha_failed",
        EmailProviderDisabled "email_provider_disabled",
        PhoneProviderDisabled "phone_provider_disabled",
        ProviderDisabled "provider_disabled",
        ReauthenticationNeeded "reauthentication_needed",
        CurrentPasswordRequired "current_password_required",
        CurrentPasswordInvalid "current_password_invalid",
        EmailAddressNotAuthorized "email_address_not_authorized",
        EmailAddressInvalid "email_address_invalid",
        SamlMetadataFetchFailed "saml_metadata_fetch_failed",
        SsoDomainAlreadyExists "sso_domain_already_exists",
        SamlEntityIdMismatch "saml_entity_id_mismatch",
        SamlAssertionNoUserId "saml_assertion_no_user_id",
        SamlAssertionNoEmail "saml_assertion_no_email",
        Web3UnsupportedChain "web3_unsupported_chain",
        OverCustomProviderQuota "over_custom_provider_quota",
        HookPayloadInvalidContentType "hook_payload_invalid_content_type",
        WebauthnChallengeNotFound "webauthn_challenge_not_found",
        WebauthnChallengeExpired "webauthn_challenge_expired",
        WebauthnVerificationFailed "webauthn_verification_failed";
    401:
        NoAuthorization "no_authorization";
    403:
        BadJwt "bad_jwt",
        NotAdmin "not_admin",
        SessionNotFound "session_not_found",
        UserBanned "user_banned",
        OtpExpired "otp_expired",
        InsufficientAal "insufficient_aal",
        MfaVerificationRejected "mfa_verification_rejected",
        UnexpectedAudience "unexpected_audience",
        OauthDynamicClientRegistrationDisabled "oauth_dynamic_client_registration_disabled";
    404:
        UserNotFound "user_not_found",
        FlowStateNotFound "flow_state_not_found",
        MfaFactorNotFound "mfa_factor_not_found",
        InviteNotFound "invite_not_found",
        SsoProviderNotFound "sso_provider_not_found",
        SsoProviderDisabled "sso_provider_disabled",
        SamlProviderDisabled "saml_provider_disabled",
        SamlIdpNotFound "saml_idp_not_found",
        SamlRelayStateNotFound "saml_relay_state_not_found",
        ManualLinkingDisabled "manual_linking_disabled",
        PasskeyDisabled "passkey_disabled",
        FeatureDisabled "feature_disabled",
        CustomProviderNotFound "custom_provider_not_found",
        OauthClientNotFound "oauth_client_not_found",
        OauthAuthorizationNotFound "oauth_authorization_not_found",
        OauthConsentNotFound "oauth_consent_not_found";
    409:
        Conflict "conflict";
    413:
        RequestEntityTooLarge "request_entity_too_large";
    422:
        WeakPassword "weak_password",
        SamePassword "same_password",
        SignupDisabled "signup_disabled",
        OtpDisabled "otp_disabled",
        AnonymousProviderDisabled "anonymous_provider_disabled",
        Web3ProviderDisabled "web3_provider_disabled",
        UserAlreadyExists "user_already_exists",
        EmailExists "email_exists",
        PhoneExists "phone_exists",
        UserSsoManaged "user_sso_managed",
        ProviderEmailNeedsVerification "provider_email_needs_verification",
        IdentityAlreadyExists "identity_already_exists",
        IdentityNotFound "identity_not_found",
        SingleIdentityNotDeletable "single_identity_not_deletable",
        EmailConflictIdentityNotDeletable "email_conflict_identity_not_deletable",
        ReauthenticationNotValid "reauthentication_not_valid",
        FlowStateExpired "flow_state_expired",
        OauthClientStateNotFound "oauth_client_state_not_found",
        OauthClientStateExpired "oauth_client_state_expired",
        TooManyEnrolledMfaFactors "too_many_enrolled_mfa_factors",
        MfaFactorNameConflict "mfa_factor_name_conflict",
        MfaIpAddressMismatch "mfa_ip_address_mismatch",
        MfaChallengeExpired "mfa_challenge_expired",
        MfaVerificationFailed "mfa_verification_failed",
        MfaPhoneEnrollNotEnabled "mfa_phone_enroll_not_enabled",
        MfaPhoneVerifyNotEnabled "mfa_phone_verify_not_enabled",
        MfaTotpEnrollNotEnabled "mfa_totp_enroll_not_enabled",
        MfaTotpVerifyNotEnabled "mfa_totp_verify_not_enabled",
        MfaWebauthnEnrollNotEnabled "mfa_webauthn_enroll_not_enabled",
        MfaWebauthnVerifyNotEnabled "mfa_webauthn_verify_not_enabled",
        MfaVerifiedFactorExists "mfa_verified_factor_exists",
        MfaRecoveryCodesEnrollNotEnabled "mfa_recovery_codes_enroll_not_enabled",
        MfaRecoveryCodesVerifyNotEnabled "mfa_recovery_codes_verify_not_enabled",
        MfaRecoveryCodesSoleFactor "mfa_recovery_codes_sole_factor",
        SamlIdpAlreadyExists "saml_idp_already_exists",
        SamlRelayStateExpired "saml_relay_state_expired",
        SmsSendFailed "sms_send_failed",
        HookTimeout "hook_timeout",
        HookTimeoutAfterRetry "hook_timeout_after_retry",
        HookPayloadOverSizeLimit "hook_payload_over_size_limit",
        TooManyPasskeys "too_many_passkeys",
        WebauthnCredentialExists "webauthn_credential_exists";
    429:
        OverRequestRateLimit "over_request_rate_limit",
        OverEmailSendRateLimit "over_email_send_rate_limit",
        OverSmsSendRateLimit "over_sms_send_rate_limit",
        MfaRecoveryCodesLocked "mfa_recovery_codes_locked";
    500:
        Unknown "unknown",
        UnexpectedFailure "unexpected_failure";
    504:
        RequestTimeout "request_timeout";
}

impl Code {
    /// Returns the refusal with this code, its usual status and `message`.
    pub(crate) fn because(self, message: impl Into<Cow<'static, str>>) -> Error {
        self.at(self.status(), message)
    }

    /// Returns the refusal with this code, `status` and `message`, where upstream responds with another status than
    /// usual.
    pub(crate) fn at(self, status: StatusCode, message: impl Into<Cow<'static, str>>) -> Error {
        Error::Refused { status, code: self, message: message.into() }
    }
}
