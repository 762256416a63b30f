export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]

export type Database = {
  // Allows to automatically instantiate createClient with right options
  // instead of createClient<Database, { PostgrestVersion: 'XX' }>(URL, KEY)
  __InternalSupabase: {
    PostgrestVersion: "14.17"
  }
  public: {
    Tables: {
      blog_posts: {
        Row: {
          category: string
          content: string
          created_at: string
          description: string
          id: number
          image_url: string | null
          is_visible: boolean
          link: string
          source_link1: string | null
          source_link2: string | null
          source_title1: string | null
          source_title2: string | null
          title: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          category: string
          content: string
          created_at?: string
          description: string
          id?: number
          image_url?: string | null
          is_visible?: boolean
          link: string
          source_link1?: string | null
          source_link2?: string | null
          source_title1?: string | null
          source_title2?: string | null
          title: string
          updated_at?: string
        }
        Update: {
          category?: string
          content?: string
          created_at?: string
          description?: string
          id?: number
          image_url?: string | null
          is_visible?: boolean
          link?: string
          source_link1?: string | null
          source_link2?: string | null
          source_title1?: string | null
          source_title2?: string | null
          title?: string
          updated_at?: string
        }
        Relationships: []
      }
      chat_passages: {
        Row: {
          body: string
          created_at: string
          id: string
          is_visible: boolean
          page: string
          title: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          body: string
          created_at?: string
          id?: string
          is_visible?: boolean
          page: string
          title: string
          updated_at?: string
        }
        Update: {
          body?: string
          created_at?: string
          id?: string
          is_visible?: boolean
          page?: string
          title?: string
          updated_at?: string
        }
        Relationships: []
      }
      chat_suggested_questions: {
        Row: {
          created_at: string
          id: string
          order_index: number
          question: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          id?: string
          order_index?: number
          question: string
          updated_at?: string
        }
        Update: {
          created_at?: string
          id?: string
          order_index?: number
          question?: string
          updated_at?: string
        }
        Relationships: []
      }
      chat_synonyms: {
        Row: {
          meaning: string
          word: string
        }
        ComputedFields: never
        Insert: {
          meaning: string
          word: string
        }
        Update: {
          meaning?: string
          word?: string
        }
        Relationships: []
      }
      chat_widget_config: {
        Row: {
          created_at: string
          id: number
          updated_at: string
          welcome_message: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          id?: number
          updated_at?: string
          welcome_message: string
        }
        Update: {
          created_at?: string
          id?: number
          updated_at?: string
          welcome_message?: string
        }
        Relationships: []
      }
      contact_submissions: {
        Row: {
          company: string
          created_at: string
          email: string
          id: string
          message: string | null
          name: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          company: string
          created_at?: string
          email: string
          id?: string
          message?: string | null
          name: string
          updated_at?: string
        }
        Update: {
          company?: string
          created_at?: string
          email?: string
          id?: string
          message?: string | null
          name?: string
          updated_at?: string
        }
        Relationships: []
      }
      faqs: {
        Row: {
          answer: string
          created_at: string
          id: string
          is_visible: boolean
          labels: string[]
          order_index: number
          question: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          answer: string
          created_at?: string
          id?: string
          is_visible?: boolean
          labels?: string[]
          order_index?: number
          question: string
          updated_at?: string
        }
        Update: {
          answer?: string
          created_at?: string
          id?: string
          is_visible?: boolean
          labels?: string[]
          order_index?: number
          question?: string
          updated_at?: string
        }
        Relationships: []
      }
      hero_headlines: {
        Row: {
          created_at: string
          headline: string
          id: string
          is_visible: boolean
          order_index: number
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          headline: string
          id?: string
          is_visible?: boolean
          order_index?: number
          updated_at?: string
        }
        Update: {
          created_at?: string
          headline?: string
          id?: string
          is_visible?: boolean
          order_index?: number
          updated_at?: string
        }
        Relationships: []
      }
      job_applications: {
        Row: {
          created_at: string
          email: string
          id: string
          job_role_id: string | null
          job_role_title: string | null
          message: string | null
          name: string
          updated_at: string
          user_id: string | null
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          email: string
          id?: string
          job_role_id?: string | null
          job_role_title?: string | null
          message?: string | null
          name: string
          updated_at?: string
          user_id?: string | null
        }
        Update: {
          created_at?: string
          email?: string
          id?: string
          job_role_id?: string | null
          job_role_title?: string | null
          message?: string | null
          name?: string
          updated_at?: string
          user_id?: string | null
        }
        Relationships: [
          {
            foreignKeyName: "job_applications_job_role_id_fkey"
            columns: ["job_role_id"]
            isOneToOne: false
            referencedRelation: "job_openings"
            referencedColumns: ["id"]
          },
        ]
      }
      job_openings: {
        Row: {
          created_at: string
          description: string
          display_order: number
          emoji: string
          id: string
          is_active: boolean
          title: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          description: string
          display_order?: number
          emoji: string
          id?: string
          is_active?: boolean
          title: string
          updated_at?: string
        }
        Update: {
          created_at?: string
          description?: string
          display_order?: number
          emoji?: string
          id?: string
          is_active?: boolean
          title?: string
          updated_at?: string
        }
        Relationships: []
      }
      newsletter_subscriptions: {
        Row: {
          consent_given: boolean
          created_at: string
          csrf_token: string | null
          email: string
          id: string
          ip_address: unknown
          updated_at: string
          user_id: string | null
        }
        ComputedFields: never
        Insert: {
          consent_given: boolean
          created_at?: string
          csrf_token?: string | null
          email: string
          id?: string
          ip_address?: unknown
          updated_at?: string
          user_id?: string | null
        }
        Update: {
          consent_given?: boolean
          created_at?: string
          csrf_token?: string | null
          email?: string
          id?: string
          ip_address?: unknown
          updated_at?: string
          user_id?: string | null
        }
        Relationships: []
      }
      profiles: {
        Row: {
          avatar_url: string | null
          created_at: string
          email: string | null
          full_name: string | null
          id: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          avatar_url?: string | null
          created_at?: string
          email?: string | null
          full_name?: string | null
          id: string
          updated_at?: string
        }
        Update: {
          avatar_url?: string | null
          created_at?: string
          email?: string | null
          full_name?: string | null
          id?: string
          updated_at?: string
        }
        Relationships: []
      }
      setting_defaults: {
        Row: {
          category: string
          description: string
          key: string
          value: string
        }
        ComputedFields: never
        Insert: {
          category: string
          description: string
          key: string
          value: string
        }
        Update: {
          category?: string
          description?: string
          key?: string
          value?: string
        }
        Relationships: []
      }
      settings: {
        Row: {
          category: string
          created_at: string
          description: string
          id: string
          key: string
          updated_at: string
          value: string
        }
        ComputedFields: never
        Insert: {
          category: string
          created_at?: string
          description: string
          id?: string
          key: string
          updated_at?: string
          value: string
        }
        Update: {
          category?: string
          created_at?: string
          description?: string
          id?: string
          key?: string
          updated_at?: string
          value?: string
        }
        Relationships: [
          {
            foreignKeyName: "settings_key_fkey"
            columns: ["key"]
            isOneToOne: true
            referencedRelation: "setting_defaults"
            referencedColumns: ["key"]
          },
        ]
      }
      testimonial_page_orders: {
        Row: {
          created_at: string
          order_index: number
          page_name: string
          testimonial_id: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          order_index?: number
          page_name: string
          testimonial_id: string
          updated_at?: string
        }
        Update: {
          created_at?: string
          order_index?: number
          page_name?: string
          testimonial_id?: string
          updated_at?: string
        }
        Relationships: [
          {
            foreignKeyName: "testimonial_page_orders_testimonial_id_fkey"
            columns: ["testimonial_id"]
            isOneToOne: false
            referencedRelation: "testimonials"
            referencedColumns: ["id"]
          },
        ]
      }
      testimonials: {
        Row: {
          about: string
          created_at: string
          id: string
          image_path: string | null
          is_visible: boolean
          name: string
          quote: string
          role: string
          title: string
          updated_at: string
          visible_on_pages: string[]
        }
        ComputedFields: never
        Insert: {
          about: string
          created_at?: string
          id?: string
          image_path?: string | null
          is_visible?: boolean
          name: string
          quote: string
          role: string
          title: string
          updated_at?: string
          visible_on_pages?: string[]
        }
        Update: {
          about?: string
          created_at?: string
          id?: string
          image_path?: string | null
          is_visible?: boolean
          name?: string
          quote?: string
          role?: string
          title?: string
          updated_at?: string
          visible_on_pages?: string[]
        }
        Relationships: []
      }
      timeline_events: {
        Row: {
          created_at: string
          description: string
          id: string
          order_index: number
          period: string
          title: string
          updated_at: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          description: string
          id?: string
          order_index?: number
          period: string
          title: string
          updated_at?: string
        }
        Update: {
          created_at?: string
          description?: string
          id?: string
          order_index?: number
          period?: string
          title?: string
          updated_at?: string
        }
        Relationships: []
      }
      user_roles: {
        Row: {
          created_at: string
          role: string
          updated_at: string
          user_id: string
        }
        ComputedFields: never
        Insert: {
          created_at?: string
          role: string
          updated_at?: string
          user_id: string
        }
        Update: {
          created_at?: string
          role?: string
          updated_at?: string
          user_id?: string
        }
        Relationships: []
      }
    }
    Views: {
      [_ in never]: never
    }
    Functions: {
      claim_lead_mails: {
        Args: { most: number }
        Returns: {
          attempts: number
          lead_id: string
          recipient: string
          record: Json
          type: string
        }[]
      }
      count_call: {
        Args: { bucket: string; client: string; most: number; seconds: number }
        Returns: number
      }
      finish_lead_mail: {
        Args: { error?: string; lead_id: string }
        Returns: undefined
      }
      receive_lead: {
        Args: { client: string; record: Json; type: string }
        Returns: Json
      }
      search_site: {
        Args: { most?: number; question: string }
        Returns: {
          body: string
          coverage: number
          kind: string
          page: string
          score: number
          title: string
          words: number
        }[]
      }
      validate_session_integrity: {
        Args: { user_id: string }
        Returns: boolean
      }
    }
    Enums: {
      [_ in never]: never
    }
    CompositeTypes: {
      [_ in never]: never
    }
  }
}

type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, "public">]

export type Tables<
  DefaultSchemaTableNameOrOptions extends
    | keyof (DefaultSchema["Tables"] & DefaultSchema["Views"])
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
        DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
      DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])[TableName] extends {
      Row: infer R
    }
    ? R
    : never
  : DefaultSchemaTableNameOrOptions extends keyof (DefaultSchema["Tables"] &
        DefaultSchema["Views"])
    ? (DefaultSchema["Tables"] &
        DefaultSchema["Views"])[DefaultSchemaTableNameOrOptions] extends {
        Row: infer R
      }
      ? R
      : never
    : never

export type TablesInsert<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema["Tables"]
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends {
      Insert: infer I
    }
    ? I
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends {
        Insert: infer I
      }
      ? I
      : never
    : never

export type TablesUpdate<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema["Tables"]
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends {
      Update: infer U
    }
    ? U
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends {
        Update: infer U
      }
      ? U
      : never
    : never

export type Enums<
  DefaultSchemaEnumNameOrOptions extends
    | keyof DefaultSchema["Enums"]
    | { schema: keyof DatabaseWithoutInternals },
  EnumName extends DefaultSchemaEnumNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"]
    : never = never,
> = DefaultSchemaEnumNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"][EnumName]
  : DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema["Enums"]
    ? DefaultSchema["Enums"][DefaultSchemaEnumNameOrOptions]
    : never

export type CompositeTypes<
  PublicCompositeTypeNameOrOptions extends
    | keyof DefaultSchema["CompositeTypes"]
    | { schema: keyof DatabaseWithoutInternals },
  CompositeTypeName extends PublicCompositeTypeNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"]
    : never = never,
> = PublicCompositeTypeNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"][CompositeTypeName]
  : PublicCompositeTypeNameOrOptions extends keyof DefaultSchema["CompositeTypes"]
    ? DefaultSchema["CompositeTypes"][PublicCompositeTypeNameOrOptions]
    : never

export const Constants = {
  public: {
    Enums: {},
  },
} as const
